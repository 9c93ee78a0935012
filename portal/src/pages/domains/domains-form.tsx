import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import { TextArea } from "../../components/forms/text-area.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { Failure, Notice } from "../../components/notice.tsx";
import { domainsOf } from "../../words/domains.ts";
import { counted, grouped } from "../../words/numbers.ts";
import { RefusedLines } from "./refused-lines.tsx";

/** Results of the pasted domains so far. */
export interface DomainsOutcome {
  taken: number;
  /** They were there already. */
  known: number;
  refused: readonly { domain: string; why: string }[];
}

export const NO_DOMAINS: DomainsOutcome = { taken: 0, known: 0, refused: [] };

interface Props {
  title: string;
  hint: string;
  action: string;
  /** Texts for domains that were accepted, and for those that were there before. */
  words: { taken: string; known: string };
  /** Below the text. */
  children?: ReactNode;
  /** Cache key of the list of domains. */
  listKey: readonly string[];
  /** @throws other errors of the API; `onProgress` has reported the results before */
  send(domains: string[], onProgress: (outcome: DomainsOutcome) => void, signal: AbortSignal): Promise<void>;
}

/** Submits one domain or many, and shows the results. Refused domains remain in the field, to be corrected. */
export function DomainsForm({ title, hint, action, words, children, listKey, send }: Props) {
  const id = useId();
  const queries = useQueryClient();
  const [sent, setSent] = useState<Pick<OutcomeProps, "total" | "repeats" | "outcome"> | null>(null);
  const leaving = useRef<AbortController | null>(null);
  useEffect(() => () => leaving.current?.abort(), []);
  const form = useForm({ domains: "" }, async ({ domains: text }) => {
    const { domains, repeats } = domainsOf(text);
    leaving.current = new AbortController();
    let outcome = NO_DOMAINS;
    setSent(null);
    const onProgress = (next: DomainsOutcome) => {
      outcome = next;
      setSent({ total: domains.length, repeats, outcome });
    };
    try {
      await send(domains, onProgress, leaving.current.signal);
      form.field("domains").onChange(outcome.refused.map(({ domain }) => domain).join("\n"));
    } finally {
      void queries.invalidateQueries({ queryKey: listKey });
    }
  });
  const { fault: _, ...field } = form.field("domains");
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <form className="stack" onSubmit={form.submit}>
        <TextArea
          label="Domains"
          hint={hint}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          required
          {...field}
        />
        {children}
        <Failure error={form.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={form.busy}>
            {action}
          </Button>
        </div>
      </form>
      {sent !== null && <Outcome {...sent} words={words} busy={form.busy} />}
    </section>
  );
}

interface OutcomeProps {
  /** Different domains of the text. */
  total: number;
  /** Domains of the text that were in it before. */
  repeats: number;
  outcome: DomainsOutcome;
  words: Props["words"];
  busy: boolean;
}

function Outcome({ total, repeats, outcome: { taken, known, refused }, words, busy }: OutcomeProps) {
  const ended = taken + known + refused.length;
  return (
    <>
      <Notice kind="success">
        {busy && ended < total && `${grouped(ended)} of ${grouped(total)} sent. `}
        {grouped(taken)} {words.taken}, {grouped(known)} {words.known}, {grouped(refused.length)} not taken.
        {repeats > 0 && ` ${counted(repeats, "was", "were")} given twice.`}
      </Notice>
      <RefusedLines lines={refused} />
    </>
  );
}
