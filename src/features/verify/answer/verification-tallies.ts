import type { CountCell } from "../../../platform/telemetry/custom-metrics.ts";
import type { Metrics } from "../../../platform/telemetry/metrics.ts";
import type { Reason, Verdict } from "../../../verification/verdict/table.ts";

/** The tally of answers with this verdict and reason: always the same one. */
export type VerificationTallies = (
  answer: { readonly verdict: Verdict; readonly reason: Reason },
  cached: boolean,
) => CountCell;

/** There are as many as there are rows of the table of verdicts, twice. */
export function createVerificationTallies({
  verifications,
}: Pick<Metrics, "verifications">): VerificationTallies {
  // By reason, then verdict: a concatenated key would have to be hashed each time.
  const known = {
    true: new Map<Reason, Map<Verdict, CountCell>>(),
    false: new Map<Reason, Map<Verdict, CountCell>>(),
  };
  return ({ verdict, reason }, cached) => {
    const byReason = cached ? known.true : known.false;
    const byVerdict = byReason.get(reason) ?? new Map<Verdict, CountCell>();
    let tally = byVerdict.get(verdict);
    if (tally === undefined) {
      tally = verifications.tally({ verdict, reason, cached: `${cached}` });
      byReason.set(reason, byVerdict.set(verdict, tally));
    }
    return tally;
  };
}
