import type { Decision } from "../../check/verdict/verdict.ts";
import type { Metrics } from "../../core/metrics.ts";
import type { Tally } from "../../core/tally.ts";

/** The tally of answers with this verdict and reason: always the same one. */
export type VerificationTallies = (decision: Pick<Decision, "verdict" | "reason">, cached: boolean) => Tally;

/** There are as many as there are rows of the table of verdicts, twice. */
export function createVerificationTallies({
  verifications,
}: Pick<Metrics, "verifications">): VerificationTallies {
  const tallies = new Map<string, Tally>();
  return ({ verdict, reason }, cached) => {
    const key = `${verdict} ${reason} ${cached}`;
    let tally = tallies.get(key);
    if (tally === undefined) {
      tally = verifications.tally({ verdict, reason, cached: `${cached}` });
      tallies.set(key, tally);
    }
    return tally;
  };
}
