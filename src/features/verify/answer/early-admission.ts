import type { AppError } from "../../../platform/errors.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Actor } from "../../identity/actor.ts";
import type { Quota } from "../../quota/quota.ts";
import type { RateLimiter } from "../../rate-limit/rate-limit.ts";
import type { CheckAdmission } from "../checks/admission.ts";
import type { VerificationWaiter } from "../checks/in-flight-checks.ts";
import type { AddressQuestion } from "./address-question.ts";
import type { CachedAnswers } from "./cached-answers.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { askerOf, type Examiner, type FindingHandler } from "./examine.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * Decides on a verification before it costs anything. In an overload most requests are refused: a request that waited for a
 * token before its refusal would delay those that are admitted.
 */
export interface EarlyAdmission {
  /** Whether any request may be refused now: one look that serves all requests. */
  mayRefuse(nowMs: number): boolean;
  /**
   * The refusal that `enter` would throw, or the token's; null: that takes more to know. Takes nothing. While the event loop is
   * saturated every request without room is refused, whatever it asks for: to find that out would cost more.
   * @param readInput null where the input is invalid
   */
  refusal(actor: Actor, nowMs: number, readInput: () => VerifyInput | null): AppError | null;
  /**
   * Sets `cachedAnswer` of the waiter where the answer is known. Otherwise sets its `addressQuestion`, and takes a slot for the
   * check where memory does not have the evidence. A request that is not allowed anyway is left to `VerifyAddress`.
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

/** Test keys begin no checks, and not every tier has `refresh`. */
const mayAsk = ({ livemode, limits }: Actor, { refresh }: VerifyInput) =>
  livemode && (!refresh || limits.refresh);

const PASS_THROUGH: FindingHandler<EvidenceFinding> = { settled: (finding) => finding, failed() {} };

class AdmissionBeforeCost implements EarlyAdmission {
  readonly #deps: EarlyAdmissionDeps;
  /** Teams with a check in progress that began before its token and its unit were there. */
  readonly #ahead = new Set<string>();

  constructor(deps: EarlyAdmissionDeps) {
    this.#deps = deps;
  }

  mayRefuse(nowMs: number): boolean {
    return this.#deps.admission.isAtCapacity() || this.#deps.rateLimiter.isRefusing(nowMs);
  }

  refusal(actor: Actor, nowMs: number, readInput: () => VerifyInput | null): AppError | null {
    const { admission, examiner } = this.#deps;
    const limited = this.#rateLimited(actor, nowMs);
    if (limited !== null) return limited;
    if (!admission.wouldRefuse(actor.teamId)) return null;
    if (admission.isSaturated() && actor.livemode) return admission.refuse(actor.teamId);
    const input = readInput();
    if (input === null || !mayAsk(actor, input)) return null;
    // Answers in memory are given even when many requests need a check.
    const isKnown = examiner.isKnown(this.#understand(actor, input), input.refresh);
    return isKnown ? null : admission.refuse(actor.teamId);
  }

  enter(input: VerifyInput, actor: Actor, waiter: VerificationWaiter): void {
    if (!mayAsk(actor, input)) return;
    const { cachedAnswers, examiner, admission, clock } = this.#deps;
    waiter.cachedAnswer = cachedAnswers.find(input, actor);
    if (waiter.cachedAnswer !== null) return;
    const question = this.#understand(actor, input);
    waiter.addressQuestion = question;
    if (examiner.isKnown(question, input.refresh)) return;
    const nowMs = clock.monotonic();
    const limited = this.#rateLimited(actor, nowMs);
    if (limited !== null) throw limited;
    waiter.slot = admission.enter(actor.teamId);
    if (this.#waits(actor, nowMs)) this.#findAhead(question, input.refresh, waiter);
  }

  #understand(actor: Actor, { email, withEvidence, probe }: VerifyInput): AddressQuestion {
    return this.#deps.examiner.understand(email, withEvidence, askerOf(actor, probe));
  }

  #rateLimited(actor: Actor, nowMs: number): AppError | null {
    const { rateLimiter } = this.#deps;
    return rateLimiter.isRefusing(nowMs) ? rateLimiter.refusal(actor, nowMs) : null;
  }

  /** The request has to wait for its token or its unit, and will most likely get both. */
  #waits(actor: Actor, nowMs: number): boolean {
    const { quota, rateLimiter } = this.#deps;
    try {
      const unit = quota.prepare(actor);
      return unit !== "doubtful" && (unit === "fetching" || !rateLimiter.isLeased(actor, nowMs));
    } catch {
      // The request itself is refused with this when it asks for its unit.
      return false;
    }
  }

  /**
   * The check begins while its token and its unit come from Redis and Postgres, as for the first request after a pause: one
   * check of a team at a time, so that of many requests, most of which are then refused, no more are checked than are paid
   * for. A refused request does not get what was found; the cache does.
   */
  #findAhead(question: AddressQuestion, refresh: boolean, waiter: VerificationWaiter): void {
    const { teamId } = question;
    if (this.#ahead.has(teamId)) return;
    const found = this.#deps.examiner.find(question, refresh, waiter, PASS_THROUGH);
    if (!(found instanceof Promise)) return;
    question.found = found;
    this.#ahead.add(teamId);
    const settled = () => {
      this.#ahead.delete(teamId);
    };
    // A request that is refused does not look at it: an error must not be left unhandled.
    found.then(settled, settled);
  }
}

export function createEarlyAdmission(deps: EarlyAdmissionDeps): EarlyAdmission {
  return new AdmissionBeforeCost(deps);
}
