import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";
import type { QuotaThresholds } from "../quota/thresholds.ts";
import type { UsageStore } from "./usage-sql.ts";

export interface UsagePeriodicTaskDeps {
  usage: Pick<UsageStore, "prune">;
  thresholds: QuotaThresholds;
}

/** Announces quota thresholds to teams, and deletes usage that is too old to report. */
export function usagePeriodicTasks({ usage, thresholds }: UsagePeriodicTaskDeps): PeriodicTask[] {
  async function prune(isStopping: () => boolean): Promise<void> {
    for (let round = 0; round < LIMITS.usage.pruneRounds && !isStopping(); round++)
      if ((await usage.prune()) < LIMITS.usage.prunedPerRound) return;
  }
  return [
    { name: "quota thresholds", everyMs: LIMITS.usage.thresholdsEveryMs, run: thresholds.recordReached },
    { name: "prune usage", everyMs: LIMITS.relay.pruneEveryMs, run: prune },
  ];
}
