import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, Problem } from "../../api/client.ts";
import { sendEach } from "../../api/send-each.ts";
import { Button } from "../../components/button.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { RefusedLines } from "../../components/refused-lines.tsx";
import { TextArea } from "../../components/text-area.tsx";
import { useForm } from "../../components/use-form.ts";
import { domainsOf } from "../../words/domains.ts";
import { grouped } from "../../words/numbers.ts";

/** What became of the domains so far. */
interface Outcome {
  total: number;
  blocked: number;
  known: number;
  refused: { domain: string; why: string }[];
}

function withEnd(so: Outcome, domain: string, error: unknown): Outcome {
  if (error === null) return { ...so, blocked: so.blocked + 1 };
  if (error instanceof Problem && error.code === "already_blocked") return { ...so, known: so.known + 1 };
  const field = error instanceof Problem ? error.fields.get("domain") : undefined;
  const why = field ?? (error instanceof Error ? error.message : String(error));
  return { ...so, refused: [...so.refused, { domain, why }] };
}

/** What became of what was pasted. */
function Outcomes({ so, busy }: { so: Outcome; busy: boolean }) {
  const { total, blocked, known, refused } = so;
  const ended = blocked + known + refused.length;
  return (
    <>
      <Notice kind="success">
        {busy && ended < total && `${grouped(ended)} of ${grouped(total)} sent. `}
        {grouped(blocked)} blocked, {grouped(known)} blocked already, {grouped(refused.length)} not taken.
      </Notice>
      <RefusedLines lines={refused} />
    </>
  );
}

/** Blocks one domain or many. */
export function NewEntries() {
  const queries = useQueryClient();
  const [below, setBelow] = useState(true);
  const [so, setSo] = useState<Outcome | null>(null);
  const leaving = useRef<AbortController | null>(null);
  useEffect(() => () => leaving.current?.abort(), []);
  const form = useForm({ domains: "" }, async ({ domains: text }) => {
    const domains = [...new Set(domainsOf(text))];
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    setSo(null);
    const block = (domain: string) =>
      api.POST("/v1/blocklist", {
        params: { header: {} },
        body: { domain, include_subdomains: below },
        signal,
      });
    let reached: Outcome = { total: domains.length, blocked: 0, known: 0, refused: [] };
    const onEnd = (domain: string, error: unknown) => {
      reached = withEnd(reached, domain, error);
      setSo(reached);
    };
    await sendEach(domains, block, onEnd, signal);
    await queries.invalidateQueries({ queryKey: ["blocklist"] });
    // What was not taken stays, to be mended.
    form.field("domains").onChange(reached.refused.map(({ domain }) => domain).join("\n"));
  });
  const { fault: _, ...field } = form.field("domains");
  return (
    <form className="card" onSubmit={form.submit}>
      <TextArea
        label="Domains"
        hint="Such as example.com; several one a line, or with commas or spaces between them."
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        rows={3}
        required
        {...field}
      />
      <label className="row">
        <input type="checkbox" checked={below} onChange={(event) => setBelow(event.target.checked)} />
        Block their subdomains too
      </label>
      <Failure error={form.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={form.busy}>
          Block
        </Button>
      </div>
      {so !== null && <Outcomes so={so} busy={form.busy} />}
    </form>
  );
}
