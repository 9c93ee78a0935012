import type { Clock, Timer } from "../../platform/time/clock.ts";

/** One deadline that moves often, on one timer: moving it later costs no timer call. */
export interface RearmableDeadline {
  /**
   * Expires `delayMs` from now and replaces an earlier deadline.
   * @param now a recent clock reading, when the caller has one
   */
  arm(delayMs: number, now?: number): void;
  /** Nothing expires until armed again. */
  disarm(): void;
  /** Like `disarm`, and clears the timer. */
  cancel(): void;
}

export function createRearmableDeadline(clock: Clock, onExpired: () => void): RearmableDeadline {
  let dueAt = Number.POSITIVE_INFINITY;
  let timer: Timer | null = null;
  let firesAt = 0;

  function schedule(): void {
    timer?.cancel();
    firesAt = dueAt;
    timer = clock.after(Math.max(1, dueAt - clock.monotonic()), fire);
  }

  function fire(): void {
    timer = null;
    if (dueAt === Number.POSITIVE_INFINITY) return;
    if (clock.monotonic() < dueAt) {
      schedule();
    } else {
      dueAt = Number.POSITIVE_INFINITY;
      onExpired();
    }
  }

  return {
    arm(delayMs, now = clock.monotonic()) {
      dueAt = now + delayMs;
      if (timer === null || firesAt > dueAt) schedule();
    },
    disarm() {
      dueAt = Number.POSITIVE_INFINITY;
    },
    cancel() {
      timer?.cancel();
      timer = null;
      dueAt = Number.POSITIVE_INFINITY;
    },
  };
}
