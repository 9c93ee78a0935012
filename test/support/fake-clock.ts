import type { Clock, Timer } from "../../src/platform/time/clock.ts";

export interface FakeClock extends Clock {
  /** Moves time by `ms` and runs every timer that falls due, in the order of its due time, then of its creation. */
  advance(ms: number): void;
  /** The same as `advance`, but runs promise callbacks before, between and after the timers. */
  advanceAsync(ms: number): Promise<void>;
  /** Number of pending timers. */
  readonly pending: number;
}

interface Waiting {
  dueMs: number;
  order: number;
  callback: () => void;
}

/** 2026-01-01T00:00:00Z: the start of a UTC day. */
const DEFAULT_START_MS = Date.UTC(2026, 0, 1);

/** Runs all callbacks that wait for promises or `setImmediate` only, three ticks deep. */
async function flush(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * A clock that stands still until it is moved. Timers made by callbacks while it moves fire in the same move when
 * they fall due in it.
 *
 * @param startMs wall time at the start, milliseconds since the epoch; `monotonic()` starts at 0.
 */
export function createFakeClock(startMs: number = DEFAULT_START_MS): FakeClock {
  const waiting = new Set<Waiting>();
  let elapsedMs = 0;
  let order = 0;

  function takeNext(untilMs: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const timer of waiting) {
      if (timer.dueMs > untilMs) continue;
      if (!next || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order))
        next = timer;
    }
    if (next) {
      waiting.delete(next);
      elapsedMs = Math.max(elapsedMs, next.dueMs);
    }
    return next;
  }

  return {
    now: () => startMs + elapsedMs,
    monotonic: () => elapsedMs,
    after(delayMs, callback): Timer {
      const timer = { dueMs: elapsedMs + Math.max(0, delayMs), order: order++, callback };
      waiting.add(timer);
      return { cancel: () => void waiting.delete(timer) };
    },
    advance(ms) {
      const untilMs = elapsedMs + ms;
      for (let next = takeNext(untilMs); next; next = takeNext(untilMs)) next.callback();
      elapsedMs = Math.max(elapsedMs, untilMs);
    },
    async advanceAsync(ms) {
      const untilMs = elapsedMs + ms;
      await flush();
      for (let next = takeNext(untilMs); next; next = takeNext(untilMs)) {
        next.callback();
        await flush();
      }
      elapsedMs = Math.max(elapsedMs, untilMs);
      await flush();
    },
    get pending() {
      return waiting.size;
    },
  };
}
