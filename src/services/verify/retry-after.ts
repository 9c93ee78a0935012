import type { SmtpEvidence } from "../../check/evidence.ts";
import { LIMITS } from "../../core/limits.ts";

/** When asking again may bring an answer, and whether we do that ourselves. */
export interface RetryAfter {
  /** From when the evidence was stored. */
  seconds: number;
  rechecked: boolean;
}

/**
 * Of evidence that is no answer because the server put us off: the address itself, or the stranger whose answer is
 * missing to it. Greylisting without a delay is given the usual one; other limits of servers without one say nothing. A
 * site whose breaker is open is asked by its trials, not by us. Null where asking again soon would bring the same.
 */
export function retryAfter(smtp: SmtpEvidence | null): RetryAfter | null {
  if (smtp === null) return null;
  const { class: end, retryAfterS, catchAll } = smtp;
  if (end === "sender_blocked")
    return retryAfterS === null ? null : { seconds: retryAfterS, rechecked: false };
  const { usualS, minS, maxS, slackS } = LIMITS.rechecks;
  const namedS = end === "greylisted" ? (retryAfterS ?? usualS) : retryAfterS;
  const isPutOff = end === "greylisted" || end === "rate_limited_by_server";
  const isStrangerPutOff = end === "accepted" && catchAll === "inconclusive";
  if (namedS === null || !(isPutOff || isStrangerPutOff)) return null;
  return { seconds: Math.min(maxS, Math.max(minS, namedS)) + slackS, rechecked: true };
}
