import { AppError } from "../../core/errors.ts";
import { RenderedJson } from "../../core/rendered-json.ts";
import { traced } from "../../core/tracing.ts";
import type { Actor } from "../actor.ts";
import type { Quota, Reservation } from "../quota/quota.ts";
import { Charge, type ChargeDeps } from "./charge.ts";
import { jsonOf } from "./draw-rows.ts";
import type { Entrance } from "./entrance.ts";
import type { Examiner, Finding, FindingArrival } from "./examine.ts";
import type { Waiter } from "./flights.ts";
import type { Question } from "./question.ts";
import type { TestKeys } from "./test-keys.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * One address, answered. Synchronous when the answer is in memory and a unit of quota is leased: such a request
 * touches neither Redis nor Postgres nor another thread.
 * @throws AppError `unavailable_in_tier` (refresh), `quota_exceeded`, `overloaded`, `unavailable`
 */
export type VerifyAddress = (
  input: VerifyInput,
  actor: Actor,
  waiter: Waiter,
) => Answered | Promise<Answered>;

/** A result, or JSON of one. */
export type Answered = VerificationResult | RenderedJson;

export interface VerifyDeps extends ChargeDeps {
  examiner: Pick<Examiner, "find" | "draw">;
  /** Asked before the quota, where it was not before: what is refused costs nothing. */
  enter: Entrance["enter"];
  quota: Pick<Quota, "reserve">;
  testKeys: TestKeys;
}

export function createVerifyAddress(deps: VerifyDeps): VerifyAddress {
  return (input, actor, waiter) => {
    const { refresh, email, withEvidence } = input;
    if (refresh && !actor.limits.refresh) {
      throw new AppError(
        "unavailable_in_tier",
        `refresh needs the tier pro or above, the team has ${actor.tier}`,
      );
    }
    const { teamId, limits, overlay } = actor;
    const asker = { teamId, probing: limits.probing, overlay };
    if (!actor.livemode) return deps.testKeys.answer(email, withEvidence, asker);
    if (!waiter.question) deps.enter(input, actor, waiter);
    const { question } = waiter;
    if (!question) throw new Error("nobody was let in who may ask");
    return answer(deps, actor, question, waiter, refresh);
  };
}

/** @throws AppError as `VerifyAddress` does */
function answer(
  deps: VerifyDeps,
  actor: Actor,
  question: Question,
  waiter: Waiter,
  refresh: boolean,
): Answered | Promise<Answered> {
  const reservation = reserve(deps, actor, waiter);
  if (reservation instanceof Promise) {
    traced(waiter.span, "quota lease", reservation);
    return reservation.then(
      (unit) => new Answering(deps, question, waiter, unit).find(refresh),
      (error: unknown) => {
        waiter.place?.leave();
        throw error;
      },
    );
  }
  return new Answering(deps, question, waiter, reservation).find(refresh);
}

/** Who gets no unit leaves the place that he was let in to. */
function reserve({ quota }: VerifyDeps, actor: Actor, { place }: Waiter): Reservation | Promise<Reservation> {
  try {
    return quota.reserve(actor);
  } catch (error) {
    place?.leave();
    throw error;
  }
}

/** A charge that answers with what it came to. */
class Answering extends Charge<VerifyDeps, Waiter> implements FindingArrival<Answered> {
  find(refresh: boolean): Answered | Promise<Answered> {
    const { examiner } = this.deps;
    try {
      return examiner.find(this.question, refresh, this.waiter, this);
    } catch (error) {
      this.failed();
      throw error;
    }
  }

  landed(finding: Finding): Answered {
    const drawn = this.settle(finding);
    return drawn === null ? this.result : new RenderedJson(jsonOf(drawn));
  }
}
