import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";

/** Deletes feedback that is over its retention. @param prune some rows of each table; returns how many of one */
export function feedbackPeriodicTasks(prune: () => Promise<number>): PeriodicTask[] {
  const { pruneRounds, prunedPerRound } = LIMITS.feedback;
  async function pruneAll(isStopping: () => boolean): Promise<void> {
    for (let round = 0; round < pruneRounds && !isStopping(); round++)
      if ((await prune()) < prunedPerRound) return;
  }
  return [{ name: "prune feedback", everyMs: LIMITS.relay.pruneEveryMs, run: pruneAll }];
}
