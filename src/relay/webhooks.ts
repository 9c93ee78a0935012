import { LIMITS } from "../core/limits.ts";
import type { Chore } from "./relay.ts";

export interface WebhookChoreDeps {
  /** How many events it turned into deliveries, see `FanOut`. */
  fanOut(): Promise<number>;
  /** How many old events it deleted, at most LIMITS.webhooks.prunedPerRound. */
  prune(): Promise<number>;
  /** Counts the deliveries that wait, for the metrics. */
  countBacklog(): Promise<void>;
}

/** What webhooks need besides the dispatcher. */
export function webhookChores({ fanOut, prune, countBacklog }: WebhookChoreDeps): Chore[] {
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
