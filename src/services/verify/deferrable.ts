import type { Evidence } from "../../check/evidence.ts";
import type { Decision } from "../../check/verdict/verdict.ts";

export type DeferralReason = "greylisted" | "rate_limited_by_server" | "sender_blocked";

/** Why a row should be asked about again later, although it has an answer. */
export interface Deferrable {
  reason: DeferralReason;
  /** Seconds to wait, as the server asked us or our breaker says; null when nobody named any. */
  retryAfterS: number | null;
  /** Nobody asked: the site's breaker is open. */
  parked: boolean;
}

/**
 * Whether asking again later may turn `unknown` into an answer: the server put us off, or we park its site. Null for
 * every other answer, also for failures that the next attempt would meet again.
 */
export function deferrable(decision: Pick<Decision, "reason">, evidence: Evidence | null): Deferrable | null {
  switch (decision.reason) {
    case "greylisted":
    case "rate_limited_by_server":
    case "sender_blocked":
      return {
        reason: decision.reason,
        retryAfterS: evidence?.smtp?.retryAfterS ?? null,
        parked: decision.reason === "sender_blocked" && evidence?.smtp?.rule === "breaker_open",
      };
    default:
      return null;
  }
}
