import { useState } from "react";
import { api, Problem } from "../../api/client.ts";
import { sendEach } from "../../api/send-each.ts";
import { DomainsForm, type DomainsOutcome, NO_DOMAINS } from "./domains-form.tsx";

function withEnd(outcome: DomainsOutcome, domain: string, error: unknown): DomainsOutcome {
  if (error === null) return { ...outcome, taken: outcome.taken + 1 };
  if (error instanceof Problem && error.code === "already_blocked")
    return { ...outcome, known: outcome.known + 1 };
  const field = error instanceof Problem ? error.fields.get("domain") : undefined;
  const why = field ?? (error instanceof Error ? error.message : String(error));
  return { ...outcome, refused: [...outcome.refused, { domain, why }] };
}

/** Blocks one domain or many. */
export function NewEntries() {
  const [below, setBelow] = useState(true);
  async function block(
    domains: readonly string[],
    onProgress: (outcome: DomainsOutcome) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let outcome = NO_DOMAINS;
    const send = (domain: string) => {
      const body = { domain, include_subdomains: below };
      return api.POST("/v1/blocklist", { params: { header: {} }, body, signal });
    };
    const onEnd = (domain: string, error: unknown) => {
      outcome = withEnd(outcome, domain, error);
      onProgress(outcome);
    };
    await sendEach(domains, send, onEnd, signal);
  }
  return (
    <DomainsForm
      title="Block domains"
      hint="Such as example.com; several one a line, or with commas or spaces between them."
      action="Block"
      words={{ taken: "blocked", known: "blocked already" }}
      listKey={["blocklist"]}
      send={block}
    >
      <label className="check">
        <input type="checkbox" checked={below} onChange={(event) => setBelow(event.target.checked)} />
        Block their subdomains too
      </label>
    </DomainsForm>
  );
}
