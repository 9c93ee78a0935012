import { LIMITS } from "../../../config/limits/limits.ts";
import type { SmtpEvidence } from "../../../verification/evidence.ts";
import { isCatchAllDeferred, retryProspectOf } from "../../../verification/verdict/retry-prospect.ts";

/** When asking again may bring an answer, and whether we do that ourselves. */
export interface RetryAfter {
  /** Seconds from the storing of the evidence. */
  seconds: number;
  rechecked: boolean;
}

/**
 * When to ask again about evidence that may change by itself: a temporary reply to the address, or to the catch-all probe
 * behind it. Without a delay from the server it is greylisting's usual one. A site whose breaker is open is asked only by
 * its trials. Null if asking again soon would bring the same.
 */
export function retryAfter(smtp: SmtpEvidence | null): RetryAfter | null {
  if (smtp === null) return null;
  const { retryAfterS } = smtp;
  if (smtp.class === "sender_blocked")
    return retryAfterS === null ? null : { seconds: retryAfterS, rechecked: false };
  if (retryProspectOf(smtp) === null && !isCatchAllDeferred(smtp)) return null;
  const { usualS, minS, maxS, slackS } = LIMITS.rechecks;
  const seconds = Math.min(maxS, Math.max(minS, retryAfterS ?? usualS)) + slackS;
  return { seconds, rechecked: true };
}
