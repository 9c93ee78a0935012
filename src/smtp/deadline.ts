import type { Clock, Timer } from "../core/clock.ts";

/** One deadline that moves often, on one timer that is seldom touched: arming it later costs no timer call. */
export interface Deadline {
  /**
   * Expires `delayMs` from now, whatever was set before.
   * @param now what the clock said a moment ago, to whoever has just asked it
   */
  arm(delayMs: number, now?: number): void;
  /** Nothing expires until armed again. */
  rest(): void;
  /** As `rest`, and lets go of the timer. */
  cancel(): void;
}

export function createDeadline(clock: Clock, onExpired: () => void): Deadline {
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
    rest() {
      dueAt = Number.POSITIVE_INFINITY;
    },
    cancel() {
      timer?.cancel();
      timer = null;
      dueAt = Number.POSITIVE_INFINITY;
    },
  };
}
