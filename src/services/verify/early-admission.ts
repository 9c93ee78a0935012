import type { Clock } from "../../core/clock.ts";
import type { AppError } from "../../core/errors.ts";
import type { Actor } from "../actor.ts";
import type { Quota } from "../quota/quota.ts";
import type { RateLimiter } from "../rate-limit/rate-limit.ts";
import type { AddressQuestion } from "./address-question.ts";
import type { CheckAdmission } from "./admission.ts";
import type { CachedAnswers } from "./cached-answers.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { askerOf, type Examiner, type FindingHandler } from "./examine.ts";
import type { VerificationWaiter } from "./in-flight-checks.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * What is settled of a verification before it costs anything. In an overload refusals are nearly all there is to do: one that waits
 * for a token before it is turned away takes from those who are let in what they came for.
 */
export interface EarlyAdmission {
  /** Whether there is a limit at all that somebody exceeds: for all requests that come, one look. */
  mayRefuse(nowMs: number): boolean;
  /**
   * What `enter` would refuse with, or the token's limit; null: that takes more to know. Takes nothing. Of a house that is swamped
   * whatever who has no room asks for is refused: to find out what it is takes more than that.
   * @param input what is asked; null where that is not well said
   */
  refusal(actor: Actor, nowMs: number, input: () => VerifyInput | null): AppError | null;
  /**
   * Finds the answer that was drawn before. Else understands what is asked and, where it is not known here, takes a place for the check: all are the waiter's from then on.
   * Who may not ask for it anyway is left to who tells him so.
   * @throws AppError `overloaded`; `rate_limited` where there is certainly no token
   */
  enter(input: VerifyInput, actor: Actor, waiter: VerificationWaiter): void;
}

export interface EarlyAdmissionDeps {
  examiner: Pick<Examiner, "understand" | "isKnown" | "find">;
  cachedAnswers: Pick<CachedAnswers, "find">;
  admission: Pick<CheckAdmission, "enter" | "isAtCapacity" | "isSaturated" | "wouldRefuse" | "refuse">;
  rateLimiter: Pick<RateLimiter, "isRefusing" | "refusal" | "isLeased">;
  quota: Pick<Quota, "prepare">;
  clock: Pick<Clock, "monotonic">;
}

/** Test keys begin no checks, and `refresh` is not for every tier. */
const mayAsk = ({ livemode, limits }: Actor, { refresh }: VerifyInput) =>
  livemode && (!refresh || limits.refresh);

const PASS_THROUGH: FindingHandler<EvidenceFinding> = { settled: (finding) => finding, failed() {} };

export function createEarlyAdmission(deps: EarlyAdmissionDeps): EarlyAdmission {
  const { examiner, cachedAnswers, admission, rateLimiter, quota, clock } = deps;
  /** Teams with a check under way that was begun before its token and its unit were there. */
  const ahead = new Set<string>();

  function understand(actor: Actor, { email, withEvidence, probe }: VerifyInput): AddressQuestion {
    return examiner.understand(email, withEvidence, askerOf(actor, probe));
  }

  /** The request has to wait for its token or its unit, and will most likely get both. */
  function waits(actor: Actor, nowMs: number): boolean {
    try {
      const unit = quota.prepare(actor);
      return unit !== "doubtful" && (unit === "fetching" || !rateLimiter.isLeased(actor, nowMs));
    } catch {
      // The request itself is refused with this when it asks for its unit.
      return false;
    }
  }

  /**
   * The check begins while its token and its unit come from Redis and Postgres, as for the first request after a pause: one of a team
   * at a time, so that a crowd of requests, most of which are then refused, has no more checked than it pays for. A request that is
   * refused all the same is told nothing of what was found; the cache is.
   */
  function findAhead(question: AddressQuestion, refresh: boolean, waiter: VerificationWaiter): void {
    const { teamId } = question;
    if (ahead.has(teamId)) return;
    const found = examiner.find(question, refresh, waiter, PASS_THROUGH);
    if (!(found instanceof Promise)) return;
    question.found = found;
    ahead.add(teamId);
    const settled = () => {
      ahead.delete(teamId);
    };
    // A request that is refused does not look at it: an error must not be left unhandled.
    found.then(settled, settled);
  }

  const rateLimited = (actor: Actor, nowMs: number) =>
    rateLimiter.isRefusing(nowMs) ? rateLimiter.refusal(actor, nowMs) : null;

  return {
    mayRefuse: (nowMs) => admission.isAtCapacity() || rateLimiter.isRefusing(nowMs),
    refusal(actor, nowMs, readInput) {
      const limited = rateLimited(actor, nowMs);
      if (limited !== null) return limited;
      if (!admission.wouldRefuse(actor.teamId)) return null;
      if (admission.isSaturated() && actor.livemode) return admission.refuse(actor.teamId);
      const input = readInput();
      if (input === null || !mayAsk(actor, input)) return null;
      // What memory has is answered, however many there are who ask for what it has not.
      return examiner.isKnown(understand(actor, input), input.refresh)
        ? null
        : admission.refuse(actor.teamId);
    },
    enter(input, actor, waiter) {
      if (!mayAsk(actor, input)) return;
      waiter.cachedAnswer = cachedAnswers.find(input, actor, waiter.startedMs);
      if (waiter.cachedAnswer !== null) return;
      const question = understand(actor, input);
      waiter.addressQuestion = question;
      if (examiner.isKnown(question, input.refresh)) return;
      const nowMs = clock.monotonic();
      const limited = rateLimited(actor, nowMs);
      if (limited !== null) throw limited;
      waiter.slot = admission.enter(actor.teamId);
      if (!waiter.slot.isLookupOnly && waits(actor, nowMs)) findAhead(question, input.refresh, waiter);
    },
  };
}
