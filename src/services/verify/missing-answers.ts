import type { Actor } from "../actor.ts";
import type { Reservation } from "../quota/quota.ts";
import { Charge, type ChargeDeps, type Charged } from "./charge.ts";
import type { DrawnRow } from "./draw-rows.ts";
import type { Entrance } from "./entrance.ts";
import { type AskableQuestion, type Examiner, mustBeAsked } from "./examine.ts";
import type { Awaiting, Boarded, Boarder, Landing } from "./flights.ts";
import type { Question } from "./question.ts";
import type { Desk } from "./ready-answers.ts";
import type { VerificationResult } from "./verification-result.ts";

/** Who asks, and is told. */
export interface MissAsker extends Boarder, Charged {
  /** An address, plain. */
  readonly email: string;
  readonly actor: Actor;
  /** Of the actor. */
  readonly desk: Pick<Desk, "rate" | "quota">;
  question: Question | null;
  /** Once, unless `failed` is. @param drawn the answer; null: it is `result`, which else is another's that is alike */
  answered(result: VerificationResult, drawn: DrawnRow | null): void;
  failed(error: unknown): void;
}

/**
 * The short way to an answer that is not there: `verify-address` and the steps before it for a plain question of a live key whose
 * token and unit are leased, without a promise and with as little as is needed held for those who wait. They are all in the hands
 * of the garbage collector, which copies what each holds: on the general way half of an answer's 10.9 KB.
 */
export interface MissingAnswers {
  /** @returns null: nothing was taken, the general way has to answer. Else it is told, of a failure maybe within the call */
  ask(asker: MissAsker): Boarded | null;
}

export interface MissingDeps extends ChargeDeps {
  examiner: Pick<Examiner, "draw" | "lookUp">;
  entrance: Pick<Entrance, "mayRefuse" | "enter">;
}

/** Of who has gone before he had boarded, or was told already. */
const NOBODY: Boarded = { leave() {} };

/** A charge that tells who asked. */
class Miss extends Charge<ChargeDeps, MissAsker> implements Awaiting {
  landed(landing: Landing): void {
    const drawn = this.settle(landing);
    this.waiter.answered(this.result, drawn);
  }

  override failed(error?: unknown): void {
    super.failed();
    this.waiter.failed(error);
  }
}

export function createMissingAnswers(deps: MissingDeps): MissingAnswers {
  function lookUp(question: AskableQuestion, asker: MissAsker, unit: Reservation): Boarded {
    const miss = new Miss(deps, question, asker, unit);
    try {
      return deps.examiner.lookUp(question, asker, miss);
    } catch (error) {
      miss.failed(error);
      return NOBODY;
    }
  }

  /** Takes a place for the question, where it is one that has to be looked up. */
  function enter(asker: MissAsker): AskableQuestion | null {
    const { email, actor } = asker;
    deps.entrance.enter({ email, refresh: false, withEvidence: false }, actor, asker);
    const { question, place } = asker;
    return place !== null && place !== undefined && question !== null && mustBeAsked(question)
      ? question
      : null;
  }

  return {
    ask(asker) {
      const { actor, startedMs: nowMs } = asker;
      const { rate, quota } = asker.desk;
      // What is refused, or may be, is told so on the ways for that.
      if (!actor.livemode || deps.entrance.mayRefuse(nowMs) || !quota.isReady(nowMs)) return null;
      const question = enter(asker);
      if (question === null) return null;
      if (!rate.take(nowMs)) {
        asker.place?.leave();
        return null;
      }
      return lookUp(question, asker, quota.take(nowMs));
    },
  };
}
