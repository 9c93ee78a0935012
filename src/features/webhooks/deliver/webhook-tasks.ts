import { LIMITS } from "../../../config/limits/limits.ts";
import type { PeriodicTask } from "../../../platform/periodic/periodic-tasks.ts";

export interface WebhookPeriodicTaskDeps {
  /** Returns how many events it turned into deliveries, see `FanOut`. */
  fanOut(): Promise<number>;
  /** Returns how many old events it deleted, at most LIMITS.webhooks.prunedPerRound. */
  prune(): Promise<number>;
  /** Counts pending deliveries, for the metrics. */
  countBacklog(): Promise<void>;
}

/** The periodic tasks of webhooks besides the dispatcher. */
export function webhookPeriodicTasks({
  fanOut,
  prune,
  countBacklog,
}: WebhookPeriodicTaskDeps): PeriodicTask[] {
  const { fanOutEveryMs, eventsPerFanOut, prunedPerRound, backlogEveryMs } = LIMITS.webhooks;
  const untilFew = (step: () => Promise<number>, many: number) => async (isStopping: () => boolean) => {
    for (let round = 0; round < LIMITS.relay.reapRounds && !isStopping(); round++)
      if ((await step()) < many) return;
  };
  return [
    { name: "fan events out", everyMs: fanOutEveryMs, run: untilFew(fanOut, eventsPerFanOut) },
    { name: "prune events", everyMs: LIMITS.relay.pruneEveryMs, run: untilFew(prune, prunedPerRound) },
    { name: "count the webhook backlog", everyMs: backlogEveryMs, run: countBacklog },
  ];
}
