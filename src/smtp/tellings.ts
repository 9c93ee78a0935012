import { endOfCall } from "../core/turns.ts";
import type { Asker } from "./job.ts";
import type { RcptOutcome } from "./outcome.ts";

/**
 * Outcomes on their way to who asked. They are handed over at the end of the turn: whoever hears one may ask on, and finds no
 * queue half changed.
 */
export class Tellings {
  /**
   * Outcomes, and who hears them, in the same order: the first `#count` of both, null behind. Arrays that were made for each turn had
   * room for sixteen more each, a tenth of all that an answer left to the garbage collector.
   */
  readonly #outcomes: (RcptOutcome | null)[] = [];
  readonly #askers: (Asker | null)[] = [];
  #count = 0;

  add(outcome: RcptOutcome, asker: Asker): void {
    const at = this.#count++;
    this.#outcomes[at] = outcome;
    this.#askers[at] = asker;
    if (at === 0) endOfCall(this.#tellAll);
  }

  readonly #tellAll = (): void => {
    try {
      // Who asks on as it hears may be answered at once, behind all others.
      for (let at = 0; at < this.#count; at++) {
        const outcome = this.#outcomes[at] as RcptOutcome;
        const asker = this.#askers[at] as Asker;
        this.#outcomes[at] = null;
        this.#askers[at] = null;
        asker.settled(outcome);
      }
    } finally {
      this.#count = 0;
    }
  };
}
