// The global `performance` is a getter, called each time.
import { performance } from "node:perf_hooks";

/** Time as a dependency, so that tests control it. Every module that waits or expires takes a `Clock`. */
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

/** Milliseconds that never go backwards and are the same in all threads of the process, unlike `Clock.monotonic`. */
export function processMonotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

/**
 * Whole milliseconds from `nowMs` to the next multiple of `everyMs` that is more than a millisecond away: a timer may fire
 * that much early, and must not fire twice for the same multiple.
 */
export function msToNextInterval(nowMs: number, everyMs: number): number {
  const next = (Math.floor((nowMs + 1) / everyMs) + 1) * everyMs;
  return Math.ceil(next - nowMs);
}

/** Resolves after `ms` of `clock`, or when `signal` is aborted. */
export function pause(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}

/** A day of UTC, as POSIX time counts it. */
export const DAY_MS = 86_400_000;

/** Whole seconds until the next UTC midnight, at least 1. */
export function secondsToUtcMidnight(epochMs: number): number {
  return Math.max(1, Math.ceil((DAY_MS - (epochMs % DAY_MS)) / 1000));
}
