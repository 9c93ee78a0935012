import type { Evidence } from "../../check/evidence.ts";
import type { Decision } from "../../check/verdict/verdict.ts";

export type DeferralReason = "greylisted" | "rate_limited_by_server" | "sender_blocked";

/** Why a row should be asked about again later, although it has an answer. */
export interface Deferrable {
  reason: DeferralReason;
  /** Seconds the server asked us to wait; null when it named none. */
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
        retryAfterS: evidence?.smtp?.retryAfterS ?? delayNamed(evidence?.smtp?.reply ?? ""),
        parked: decision.reason === "sender_blocked" && evidence?.smtp?.rule === "breaker_open",
      };
    default:
      return null;
  }
}

const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3_600 };

/** A day: who names more is not waited for so long anyway. */
const LONGEST_S = 86_400;

/**
 * `Greylisted for 300 seconds`, `try again in 5 minutes`, `come back in 00:04:59`, `retry=300s`. Needs a word before the
 * figure, so that ports, codes and counts are no delays.
 */
const CLOCK = /\b(?:in|after|for)\s+(\d{1,2}):(\d{2}):(\d{2})\b/i;
const SPAN =
  /(?:\b(?:in|after|for|wait)\s+|\bretry=)(?:about\s+)?(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b/i;

/** The delay a reply names, in seconds, at most a day; null for none. */
export function delayNamed(reply: string): number | null {
  const clock = CLOCK.exec(reply);
  if (clock) {
    const [, hours, minutes, seconds] = clock.map(Number);
    return Math.min(LONGEST_S, (hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0));
  }
  const span = SPAN.exec(reply);
  if (!span) return null;
  const unit = UNIT_S[(span[2] ?? "s").charAt(0).toLowerCase()] ?? 1;
  return Math.min(LONGEST_S, Number(span[1]) * unit);
}
