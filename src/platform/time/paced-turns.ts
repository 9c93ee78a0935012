import { setImmediate as nextTick } from "node:timers/promises";
import { createFairQueue } from "../fair-queue.ts";
import { type Clock, pause } from "./clock.ts";

/** Shorter pauses are taken together: timers are not exact to less. */
const LEAST_PAUSE_MS = 2;

/** A step that took longer waited for a core: its pause is no longer than after this. */
const LONGEST_STEP_MS = 10;

/** Long work of many shares on the event loop, step by step. All of it together takes a part of the loop's time. */
export interface PacedTurns {
  /**
   * Runs a step that takes about a millisecond: next that of the share (`shareKey`) which had its turn longest ago. The caller
   * bounds how many wait.
   * @param step waits for nothing but its own work
   * @param spentMs of the event loop, taken by the caller for this step already
   * @throws what `step` throws
   */
  run<T>(share: string, step: () => T | Promise<T>, spentMs?: number): Promise<T>;
}

/** @param part of the event loop's time, between 0 and 1 */
export function createPacedTurns(clock: Pick<Clock, "monotonic" | "after">, part: number): PacedTurns {
  const queue = createFairQueue();
  let owedMs = 0;

  async function rest(): Promise<void> {
    const ms = owedMs;
    if (ms < LEAST_PAUSE_MS) return nextTick();
    owedMs = 0;
    await pause(clock, ms);
  }

  return {
    run: (share, step, spentMs = 0) =>
      queue.run(share, async () => {
        const beginMs = clock.monotonic();
        try {
          return await step();
        } finally {
          const stepMs = spentMs + clock.monotonic() - beginMs;
          owedMs += Math.min(stepMs, LONGEST_STEP_MS) * (1 / part - 1);
          await rest();
        }
      }),
  };
}
