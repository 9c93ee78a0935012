import { AppError } from "../../../platform/errors.ts";
import { RenderedJson } from "../../../platform/rendered-json.ts";
import type { CountCell } from "../../../platform/telemetry/custom-metrics.ts";
import { traceCall } from "../../../platform/telemetry/tracing.ts";
import { isUncharged } from "../../../verification/verdict/verdict.ts";
import type { Actor } from "../../identity/actor.ts";
import type { Quota, UnitReservation } from "../../quota/quota.ts";
import type { UsageCounter } from "../../usage/counts.ts";
import { type RowFiller, type TemplatedRow, templatedJsonOf, templatedResultOf } from "../batch/fill-rows.ts";
import type { VerificationWaiter } from "../checks/in-flight-checks.ts";
import type { AddressQuestion } from "./address-question.ts";
import type { AnswerNote, CachedAnswer } from "./answer-note.ts";
import type { CachedAnswers } from "./cached-answers.ts";
import type { EarlyAdmission } from "./early-admission.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { askerOf, type Examiner, type FindingHandler } from "./examine.ts";
import type { TestKeys } from "./test-keys.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerificationTallies } from "./verification-tallies.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * One address, answered. Synchronous when the answer is in memory and a unit of quota is leased: such a request
 * touches neither Redis nor Postgres nor another thread.
 * @throws AppError `unavailable_in_tier` (refresh), `quota_exceeded`, `overloaded`, `unavailable`
 */
export type VerifyAddress = (
  input: VerifyInput,
  actor: Actor,
  waiter: VerificationWaiter,
) => VerificationAnswer | Promise<VerificationAnswer>;

/** A result, or JSON of one. */
export type VerificationAnswer = VerificationResult | RenderedJson;

export interface VerifyDeps {
  examiner: Pick<Examiner, "find" | "answer">;
  filler: Pick<RowFiller, "fill">;
  /** Admission before the quota, unless it was checked earlier: a refusal costs nothing. */
  enter: EarlyAdmission["enter"];
  quota: Quota;
  testKeys: TestKeys;
  usage: Pick<UsageCounter, "count">;
  tallies: VerificationTallies;
  cachedAnswers: Pick<CachedAnswers, "remember">;
  /** Counts looks into the evidence cache's memory that were spared. */
  cacheHits: CountCell;
}

export function createVerifyAddress(deps: VerifyDeps): VerifyAddress {
  return (input, actor, waiter) => {
    const { refresh, email, withEvidence, probe } = input;
    if (refresh && !actor.limits.refresh) {
      throw new AppError(
        "unavailable_in_tier",
        `refresh needs the tier pro or above, the team has ${actor.tier}`,
      );
    }
    if (!actor.livemode) return deps.testKeys.answer(email, withEvidence, askerOf(actor, probe));
    if (!waiter.addressQuestion && !waiter.cachedAnswer) deps.enter(input, actor, waiter);
    const { addressQuestion: question, cachedAnswer } = waiter;
    if (cachedAnswer) return answerFromCache(deps, actor, cachedAnswer, waiter);
    if (!question) throw new Error("nobody was let in who may ask");
    return answer(deps, actor, question, waiter, refresh);
  };
}

/** @throws AppError as `VerifyAddress` does */
function answerFromCache(
  deps: VerifyDeps,
  actor: Actor,
  cached: CachedAnswer,
  waiter: VerificationWaiter,
): VerificationAnswer | Promise<VerificationAnswer> {
  const reservation = reserve(deps, actor, waiter);
  if (!(reservation instanceof Promise)) return settleCached(deps, actor, cached, waiter, reservation);
  traceCall(waiter.span, "quota lease", reservation);
  return reservation.then((unit) => settleCached(deps, actor, cached, waiter, unit));
}

function settleCached(
  { usage, cacheHits }: VerifyDeps,
  { teamId }: Actor,
  cached: CachedAnswer,
  waiter: VerificationWaiter,
  unit: UnitReservation,
): RenderedJson {
  cacheHits.count += 1;
  waiter.note = cached;
  if (waiter.cancelled()) {
    // The client has gone and gets no answer, so nothing is counted.
    unit.giveBack();
    return cached.json;
  }
  unit.commit();
  usage.count(teamId, unit.day, cached.result.verdict, true);
  cached.tally.count += 1;
  return cached.json;
}

/** @throws AppError as `VerifyAddress` does */
function answer(
  deps: VerifyDeps,
  actor: Actor,
  question: AddressQuestion,
  waiter: VerificationWaiter,
  refresh: boolean,
): VerificationAnswer | Promise<VerificationAnswer> {
  const reservation = reserve(deps, actor, waiter);
  if (reservation instanceof Promise) {
    traceCall(waiter.span, "quota lease", reservation);
    return reservation.then(
      (unit) => new ChargedVerification(deps, question, waiter, unit).find(refresh),
      (error: unknown) => {
        waiter.slot?.release();
        throw error;
      },
    );
  }
  return new ChargedVerification(deps, question, waiter, reservation).find(refresh);
}

/** A request that gets no unit releases its admission slot. */
function reserve(
  { quota }: VerifyDeps,
  actor: Actor,
  { slot }: VerificationWaiter,
): UnitReservation | Promise<UnitReservation> {
  try {
    return quota.reserve(actor);
  } catch (error) {
    slot?.release();
    throw error;
  }
}

/** A text that an address was read out of is said beside it; `result` is others' too. */
function verificationAnswerOf(
  { email, unwrapped }: AddressQuestion,
  result: VerificationResult,
  templated: TemplatedRow | null,
): VerificationAnswer {
  if (unwrapped) return { ...(templated === null ? result : templatedResultOf(templated)), input: email };
  return templated === null ? result : new RenderedJson(templatedJsonOf(templated));
}

/**
 * A question that is answered within a reservation, which is kept or given back whatever happens. It is itself the note of how it
 * went: whether that is written down shows later, and of most it is not.
 */
class ChargedVerification implements FindingHandler<VerificationAnswer>, AnswerNote {
  readonly #deps: VerifyDeps;
  readonly #question: AddressQuestion;
  readonly #waiter: VerificationWaiter;
  readonly #reservation: UnitReservation;
  #result: VerificationResult | null = null;
  #finding: EvidenceFinding | null = null;

  constructor(
    deps: VerifyDeps,
    question: AddressQuestion,
    waiter: VerificationWaiter,
    reservation: UnitReservation,
  ) {
    this.#deps = deps;
    this.#question = question;
    this.#waiter = waiter;
    this.#reservation = reservation;
  }

  find(refresh: boolean): VerificationAnswer | Promise<VerificationAnswer> {
    const { found } = this.#question;
    if (found !== undefined) return this.#await(found);
    try {
      return this.#deps.examiner.find(this.#question, refresh, this.#waiter, this);
    } catch (error) {
      this.failed();
      throw error;
    }
  }

  /** Awaits a finding that was requested before the unit was taken. */
  async #await(found: Promise<EvidenceFinding>): Promise<VerificationAnswer> {
    try {
      return this.settled(await found);
    } catch (error) {
      this.failed();
      throw error;
    }
  }

  get result(): VerificationResult {
    if (this.#result === null) throw new Error("there is a note of what was answered alone");
    return this.#result;
  }

  get smtp(): AnswerNote["smtp"] {
    return this.#finding?.entry?.evidence.smtp ?? null;
  }

  get times(): AnswerNote["times"] {
    return this.#finding?.times ?? null;
  }

  failed(): void {
    this.#waiter.slot?.release();
    this.#reservation.giveBack();
  }

  settled(finding: EvidenceFinding): VerificationAnswer {
    const { examiner, filler, usage, tallies, cachedAnswers } = this.#deps;
    const question = this.#question;
    this.#waiter.slot?.release();
    const reservation = this.#reservation;
    // Mostly it was rendered for its domain before.
    const templated = filler.fill(question, finding);
    const result = templated === null ? examiner.answer(question, finding).result : templated.template.result;
    if (finding.cached) cachedAnswers.remember(question, result);
    const answered = verificationAnswerOf(question, result, templated);
    this.#result = result;
    this.#finding = finding;
    this.#waiter.note = this;
    if (this.#waiter.cancelled()) {
      // The client has gone and gets no answer, so nothing is counted.
      reservation.giveBack();
      return answered;
    }
    if (isUncharged(result.reason)) reservation.giveBack();
    else reservation.commit();
    usage.count(question.teamId, reservation.day, result.verdict, finding.cached);
    tallies(result, finding.cached).count += 1;
    return answered;
  }
}
