import { LIMITS } from "./bounds.ts";
import type { Outcome } from "./outcome.ts";

/** What the server asked of us as a whole: we are one client with one key. */
export interface Pause {
  /** @param nowMs monotonic milliseconds */
  note(outcome: Outcome, nowMs: number): void;
  /** Milliseconds for which nothing is to be sent; 0: go on. */
  leftMs(nowMs: number): number;
}

const ASKS: ReadonlySet<number> = new Set([429, 503]);

/** @param isHeeded false: what is asked is counted, as any answer is, and otherwise ignored */
export function createPause(isHeeded: boolean): Pause {
  let untilMs = 0;
  return {
    note(outcome, nowMs) {
      if (!isHeeded || outcome.kind !== "answer" || !ASKS.has(outcome.status)) return;
      const askedMs = Math.min(LIMITS.retryAfterMaxMs, outcome.retryAfterMs ?? 0);
      untilMs = Math.max(untilMs, nowMs + askedMs);
    },
    leftMs: (nowMs) => Math.max(0, untilMs - nowMs),
  };
}
