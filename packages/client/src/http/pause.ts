import { RcptError } from "./errors.ts";

/** The longest that a timer can wait. */
const TIMER_MAX_MS = 2_147_483_647;

/** Waits. @throws the reason of `signal` when it is aborted */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", stop);
        resolve();
      },
      Math.min(ms, TIMER_MAX_MS),
    );
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Waits between attempts: each up to twice as long as the one before, at random, so that clients do not come back together. */
export class Waits {
  readonly #firstMs: number;
  readonly #lastMs: number;
  #nextMs: number;

  constructor(firstMs: number, lastMs: number) {
    this.#firstMs = firstMs;
    this.#lastMs = lastMs;
    this.#nextMs = firstMs;
  }

  /** The next wait in milliseconds: `leastMs`, and a pause that doubles each time, half of it random. */
  nextMs(leastMs = 0): number {
    const ms = this.#nextMs * (0.5 + Math.random() / 2);
    this.#nextMs = Math.min(this.#nextMs * 2, this.#lastMs);
    return leastMs + ms;
  }

  /** It goes well again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}

/** The time that a call may take, with its retries: its signal is aborted at the end of it, and with the caller's. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #endsMs: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    const over = new AbortController();
    this.#endsMs = performance.now() + timeoutMs;
    const late = () =>
      over.abort(new RcptError("timeout", `The call was not done within ${timeoutMs / 1_000} s.`));
    if (timeoutMs <= TIMER_MAX_MS) this.#timer = setTimeout(late, timeoutMs);
    this.signal = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  }

  /** Whether there is time for a wait of `ms`, and for an attempt after it. */
  hasTimeFor(ms: number): boolean {
    return performance.now() + ms < this.#endsMs;
  }

  /**
   * Lifts the deadline, since a transfer without a time limit has begun: from now on only the caller's signal counts.
   */
  lift(): void {
    clearTimeout(this.#timer);
  }
}
