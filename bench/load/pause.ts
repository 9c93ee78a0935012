import { LIMITS } from "./bounds.ts";
import type { Outcome } from "./outcome.ts";

/** The pause that the server asked for. It applies to all requests: we are one client with one key. */
export interface Pause {
  /** @param nowMs monotonic milliseconds */
  note(outcome: Outcome, nowMs: number): void;
  /** Milliseconds for which to send nothing; 0: continue. */
  leftMs(nowMs: number): number;
}

const ASKS: ReadonlySet<number> = new Set([429, 503]);

/** @param isHeeded false: a request to wait (429 or 503) is counted like any answer, and not obeyed */
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
