import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { RefusedLines } from "../../components/refused-lines.tsx";
import { TextArea } from "../../components/text-area.tsx";
import { useForm } from "../../components/use-form.ts";
import { domainsOf } from "../../words/domains.ts";
import { grouped } from "../../words/numbers.ts";
import { type Submission, submitDomains } from "./submit-domains.ts";

/** Many domains at once, and what became of them. */
export function NewOverrides() {
  const queries = useQueryClient();
  const [so, setSo] = useState<Submission | null>(null);
  const form = useForm({ domains: "" }, async ({ domains }) => {
    setSo(null);
    try {
      const { refused } = await submitDomains(domainsOf(domains), setSo);
      // What was not taken stays, to be mended.
      form.field("domains").onChange(refused.map(({ domain }) => domain).join("\n"));
    } finally {
      void queries.invalidateQueries({ queryKey: ["overrides"] });
    }
  });
  const { fault: _, ...field } = form.field("domains");
  return (
    <section className="card" aria-labelledby="new-overrides">
      <h2 id="new-overrides">Mark domains as disposable</h2>
      <form className="stack" onSubmit={form.submit}>
        <TextArea
          label="Domains"
          hint="One a line, or with commas or spaces between them. Their subdomains count too."
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          required
          {...field}
        />
        <Failure error={form.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={form.busy}>
            Submit
          </Button>
        </div>
      </form>
      {so !== null && (
        <>
          <Notice kind="success">
            {grouped(so.accepted)} new, {grouped(so.duplicates)} known already, {grouped(so.refused.length)}{" "}
            not taken.
          </Notice>
          <RefusedLines lines={so.refused} />
        </>
      )}
    </section>
  );
}
