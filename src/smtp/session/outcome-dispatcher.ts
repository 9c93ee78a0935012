import { runAfterCurrentCall } from "../../platform/time/ticks.ts";
import type { RcptOutcome } from "../wire/outcome.ts";
import type { RcptCaller } from "./rcpt-job.ts";

/**
 * Delivers outcomes to their callers at the end of the tick: a caller may ask again from its callback and never sees a
 * half-changed queue.
 */
export class OutcomeDispatcher {
  /**
   * Outcomes and their callers, in the same order: the first `#count` of both are set, the others are null. New arrays for
   * each tick had room for sixteen more elements each, a tenth of all garbage of an answer.
   */
  readonly #outcomes: (RcptOutcome | null)[] = [];
  readonly #callers: (RcptCaller | null)[] = [];
  #count = 0;

  add(outcome: RcptOutcome, caller: RcptCaller): void {
    const at = this.#count++;
    this.#outcomes[at] = outcome;
    this.#callers[at] = caller;
    if (at === 0) runAfterCurrentCall(this.#deliverAll);
  }

  readonly #deliverAll = (): void => {
    try {
      // A caller that asks again from its callback may be answered in the same loop, after all others.
      for (let at = 0; at < this.#count; at++) {
        const outcome = this.#outcomes[at] as RcptOutcome;
        const caller = this.#callers[at] as RcptCaller;
        this.#outcomes[at] = null;
        this.#callers[at] = null;
        caller.onSettled(outcome);
      }
    } finally {
      this.#count = 0;
    }
  };
}
