import type { Evidence } from "../../check/evidence.ts";
import type { Decision } from "../../check/verdict/verdict.ts";
import { LIMITS } from "../../core/limits.ts";

const REASONS = ["greylisted", "rate_limited_by_server", "sender_blocked", "our_network"] as const;
export type DeferralReason = (typeof REASONS)[number];

/** Why a row should be asked about again later, although it has an answer. */
export interface Deferrable {
  reason: DeferralReason;
  /** Seconds to wait, as the server asked us or our breaker says; null when nobody named any. */
  retryAfterS: number | null;
  /** Nobody asked: the site's breaker is open, or nothing leaves from here. */
  parked: boolean;
  /** Where no mail server was ever reached it may stay so for good: nobody waits for longer than this. */
  patienceMs?: number;
}

/**
 * Whether asking again later may turn `unknown` into an answer: the server put us off, we park its site, or our own
 * network is down. Null for every other answer, also for failures that the next attempt would meet again.
 *
 * It goes by what happened, not by what it is called: a refusal that condemns nobody, since our own house is not in order,
 * is drawn `sender_blocked` too. Asking again would bring the same for as long as that lasts, by an address that is in
 * trouble already: such a row is answered at once, for nothing.
 */
export function deferrable(decision: Pick<Decision, "reason">, evidence: Evidence | null): Deferrable | null {
  const smtp = evidence?.smtp ?? null;
  const reason = REASONS.find((known) => known === smtp?.class);
  if (smtp === null || reason === undefined || decision.reason !== reason) return null;
  return {
    reason,
    retryAfterS: smtp.retryAfterS,
    parked: smtp.rule === "breaker_open" || reason === "our_network",
    ...(smtp.rule === "nothing_reached_yet" ? { patienceMs: LIMITS.bulk.unreachedMs } : {}),
  };
}

/** True of evidence that the cache has because somebody was put off: whoever comes again is there to ask again. */
export function wasPutOff({ smtp }: Evidence): boolean {
  return REASONS.some((reason) => reason === smtp?.class);
}
