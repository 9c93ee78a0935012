import { api, dataOf, Problem } from "../../api/client.ts";
import { sendWhenAllowed } from "../../api/send-each.ts";
import { type DomainsOutcome, NO_DOMAINS } from "./domains-form.tsx";

const PER_REQUEST = 500;

/** The wrong domains of a request, by index, with the reason; null: the error has another cause. */
function faultsOf(error: unknown, domains: readonly string[]): Map<number, string> | null {
  if (!(error instanceof Problem) || error.code !== "validation_failed") return null;
  const faults = new Map<number, string>();
  for (const [path, why] of error.fields) {
    const index = Number(/^domains\.(\d+)$/.exec(path)?.[1]);
    if (domains[index] !== undefined) faults.set(index, why);
  }
  return faults.size === 0 ? null : faults;
}

/**
 * Submits domains, as many at once as the API takes. The API accepts all domains of a request or none, and names some of
 * the wrong ones. These are left out, and the others sent again.
 * @throws other errors of the API; `onProgress` has reported the domains accepted before
 */
export async function submitDomains(
  domains: readonly string[],
  onProgress: (outcome: DomainsOutcome) => void,
  signal: AbortSignal,
): Promise<void> {
  let outcome = NO_DOMAINS;
  for (let from = 0; from < domains.length; from += PER_REQUEST) {
    let part = domains.slice(from, from + PER_REQUEST);
    while (part.length > 0) {
      const body = { domains: part };
      try {
        const send = () => dataOf(api.POST("/v1/admin/disposable", { body, signal }));
        const { accepted, duplicates } = await sendWhenAllowed(send, signal);
        outcome = { ...outcome, taken: outcome.taken + accepted, known: outcome.known + duplicates };
        part = [];
      } catch (error) {
        const faults = faultsOf(error, part);
        if (faults === null) throw error;
        const refused = [...faults].map(([index, why]) => ({ domain: part[index] ?? "", why }));
        outcome = { ...outcome, refused: [...outcome.refused, ...refused] };
        part = part.filter((_, index) => !faults.has(index));
      }
      onProgress(outcome);
    }
  }
}
