/** Time as a dependency, so that tests move it by hand. Every module that waits or expires takes a `Clock`. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. For dates and stored expiries. */
  now(): number;
  /** Milliseconds that never go backwards. For latencies and in-process expiries. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`; the timer never keeps the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs` of `clock`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** The UTC day of a wall time, `YYYY-MM-DD`: the day a reservation is charged to. */
export function utcDay(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** Whole seconds until the next UTC midnight, at least 1. */
export function secondsToUtcMidnight(epochMs: number): number {
  const dayMs = 86_400_000;
  return Math.max(1, Math.ceil((dayMs - (epochMs % dayMs)) / 1000));
}
