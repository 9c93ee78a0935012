import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";
import type { BillingRereads } from "./reread.ts";

export interface BillingPeriodicTaskDeps {
  /** null: billing is not configured; due reads wait. */
  rereads: BillingRereads | null;
  events: { prune(): Promise<number> };
}

/** Billing's periodic tasks. */
export function billingPeriodicTasks({ rereads, events }: BillingPeriodicTaskDeps): PeriodicTask[] {
  const prune: PeriodicTask = {
    name: "prune stripe events",
    everyMs: LIMITS.billing.pruneEveryMs,
    async run(isStopping) {
      const { pruneRounds, prunedPerRound } = LIMITS.billing;
      for (let round = 0; round < pruneRounds && !isStopping(); round++)
        if ((await events.prune()) < prunedPerRound) return;
    },
  };
  if (rereads === null) return [prune];
  return [
    {
      name: "read subscriptions",
      everyMs: LIMITS.billing.rereadEveryMs,
      run: (isStopping) => rereads.processDue(isStopping),
    },
    prune,
  ];
}
