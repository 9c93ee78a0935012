import type { AppError } from "../../core/errors.ts";
import type { Actor } from "../actor.ts";
import type { RateLimiter } from "../rate-limit/rate-limit.ts";
import type { Admission } from "./admission.ts";
import type { Examiner } from "./examine.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * What will be refused, known before it has cost anything. In an overload refusals are nearly all there is to do: one that has to wait
 * for a token before it is turned away takes from those who are let in what they came for. Nothing is refused here that
 * the steps behind it, in their order, would not refuse with the same words.
 */
export interface EarlyRefusals {
  /** Whether there is a limit at all that somebody exceeds: for all requests that come, one look. */
  mayBe(nowMs: number): boolean;
  /**
   * What one verification of this actor is refused with; null: that takes more to know. Takes no token.
   * @param input what is asked; null where that is not well said
   */
  of(actor: Actor, nowMs: number, input: () => VerifyInput | null): AppError | null;
}

export interface EarlyRefusalDeps {
  examiner: Pick<Examiner, "understand" | "isKnown">;
  admission: Pick<Admission, "isCrowded" | "refuses" | "turnAway">;
  rateLimiter: Pick<RateLimiter, "isRefusing" | "refusal">;
}

export function createEarlyRefusals({ examiner, admission, rateLimiter }: EarlyRefusalDeps): EarlyRefusals {
  /** What memory has is answered, however many there are who ask for what it has not. */
  function isKnown(
    { teamId, limits, overlay }: Actor,
    { email, withEvidence, refresh }: VerifyInput,
  ): boolean {
    const question = examiner.understand(email, withEvidence, { teamId, probing: limits.probing, overlay });
    return examiner.isKnown(question, refresh);
  }

  return {
    mayBe: (nowMs) => admission.isCrowded || rateLimiter.isRefusing(nowMs),
    of(actor, nowMs, readInput) {
      const limited = rateLimiter.refusal(actor, nowMs);
      if (limited !== null) return limited;
      if (!actor.livemode || !admission.refuses(actor.teamId)) return null;
      const input = readInput();
      if (input === null || (input.refresh && !actor.limits.refresh)) return null;
      return isKnown(actor, input) ? null : admission.turnAway();
    },
  };
}
