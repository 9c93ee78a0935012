import { api, dataOf, Problem } from "../../api/client.ts";

const PER_REQUEST = 500;

/** What became of the domains so far. */
export interface Submission {
  accepted: number;
  duplicates: number;
  /** Those that are no domains, and why. */
  refused: { domain: string; why: string }[];
}

/** What is wrong with which domains of a request; null: something else is wrong. */
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
 * Submits domains, as many at once as the API takes. It takes all of a request or none and names some of those that are
 * wrong: these are left out, and the others sent again.
 * @returns what became of them. @throws what the API refused otherwise; `onProgress` has told what was accepted before
 */
export async function submitDomains(
  domains: readonly string[],
  onProgress: (so: Submission) => void,
): Promise<Submission> {
  let so: Submission = { accepted: 0, duplicates: 0, refused: [] };
  const told = (next: Submission) => {
    so = next;
    onProgress(so);
  };
  for (let from = 0; from < domains.length; from += PER_REQUEST) {
    let part = domains.slice(from, from + PER_REQUEST);
    while (part.length > 0) {
      try {
        const answer = await dataOf(api.POST("/v1/admin/disposable", { body: { domains: part } }));
        const { accepted, duplicates } = answer;
        told({ ...so, accepted: so.accepted + accepted, duplicates: so.duplicates + duplicates });
        break;
      } catch (error) {
        const faults = faultsOf(error, part);
        if (faults === null) throw error;
        const refused = [...faults].map(([index, why]) => ({ domain: part[index] ?? "", why }));
        told({ ...so, refused: [...so.refused, ...refused] });
        part = part.filter((_, index) => !faults.has(index));
      }
    }
  }
  return so;
}
