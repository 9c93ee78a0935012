import { isFree } from "../../check/verdict/verdict.ts";
import { AppError } from "../../core/errors.ts";
import type { Quota, Reservation } from "../quota/quota.ts";
import type { UsageCounter } from "../usage/counts.ts";
import type { Examiner, Finding, Question } from "./examine.ts";
import type { TestKeys } from "./test-keys.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerificationTallies } from "./verification-tallies.ts";
import type { VerifyContext, VerifyInput } from "./verify-input.ts";

/**
 * One address, answered. Synchronous when the answer is in memory and a unit of quota is leased: such a request
 * touches neither Redis nor Postgres nor another thread.
 * @throws AppError `unavailable_in_tier` (refresh), `quota_exceeded`, `overloaded`, `unavailable`
 */
export type VerifyAddress = (
  input: VerifyInput,
  context: VerifyContext,
) => VerificationResult | Promise<VerificationResult>;

export interface VerifyDeps {
  examiner: Examiner;
  quota: Quota;
  testKeys: TestKeys;
  usage: Pick<UsageCounter, "count">;
  tallies: VerificationTallies;
}

/** All that one request carries from step to step. */
interface Request {
  question: Question;
  refresh: boolean;
  context: VerifyContext;
}

export function createVerifyAddress(deps: VerifyDeps): VerifyAddress {
  return (input, context) => {
    const { actor } = context;
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
    const question = deps.examiner.understand(email, withEvidence, asker);
    const request = { question, refresh, context };
    const reservation = deps.quota.reserve(actor);
    if (reservation instanceof Promise) return reservation.then((unit) => charged(deps, request, unit));
    return charged(deps, request, reservation);
  };
}

/** Answers within a reservation, which is kept or given back whatever happens. */
function charged(deps: VerifyDeps, request: Request, reservation: Reservation) {
  const { question, refresh, context } = request;
  try {
    const finding = deps.examiner.find(question, refresh, context);
    if (!(finding instanceof Promise)) return answer(deps, request, reservation, finding);
    return finding.then(
      (found) => answer(deps, request, reservation, found),
      (error: unknown) => {
        reservation.giveBack();
        throw error;
      },
    );
  } catch (error) {
    reservation.giveBack();
    throw error;
  }
}

function answer(
  deps: VerifyDeps,
  { question, context }: Request,
  reservation: Reservation,
  finding: Finding,
): VerificationResult {
  const { decision, result } = deps.examiner.draw(question, finding);
  if (context.cancelled()) {
    // Nobody is told, so nothing is counted.
    reservation.giveBack();
    return result;
  }
  if (isFree(decision.reason)) reservation.giveBack();
  else reservation.commit();
  deps.usage.count(question.teamId, reservation.day, decision.verdict, finding.cached);
  deps.tallies(decision, finding.cached).count += 1;
  return result;
}
