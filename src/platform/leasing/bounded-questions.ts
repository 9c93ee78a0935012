import type { Clock } from "../time/clock.ts";
import { startStallTolerantTimer } from "../time/stall-tolerant-timer.ts";

export interface BoundedQuestionsOptions {
  clock: Pick<Clock, "after">;
  timeoutMs: number;
  /** The error of a question that was not answered in time. */
  late(): Error;
}

/** Questions to a store: no request waits for one longer than `timeoutMs`, and a process that ends waits for their answers. */
export class BoundedQuestions {
  readonly #options: BoundedQuestionsOptions;
  readonly #open = new Set<Promise<unknown>>();
  readonly #bounded = new Set<() => void>();

  constructor(options: BoundedQuestionsOptions) {
    this.#options = options;
  }

  /** The answer, or a rejection after the time-out. The question itself goes on. */
  bounded<T>(answer: Promise<T>): Promise<T> {
    const { clock, timeoutMs, late } = this.#options;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        reject(late());
        end();
      };
      const timer = startStallTolerantTimer(clock, timeoutMs, giveUp);
      const end = () => {
        timer.cancel();
        this.#bounded.delete(giveUp);
      };
      this.#bounded.add(giveUp);
      answer.then(resolve, reject).finally(end);
    });
  }

  /** The time-out of all questions that are bounded now: the store is known not to answer. */
  giveUp(): void {
    for (const giveUp of [...this.#bounded]) giveUp();
  }

  /** The answer. Until it is there, or fails, `settled` waits. */
  open<T>(answer: Promise<T>): Promise<T> {
    const close = () => this.#open.delete(answer);
    this.#open.add(answer);
    answer.then(close, close);
    return answer;
  }

  /** Resolves when no question is open, those included that are opened meanwhile. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }
}
