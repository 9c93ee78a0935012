import { LIMITS } from "../core/limits.ts";
import type { BillingRereads } from "../services/billing/reread.ts";
import type { Chore } from "./relay.ts";

export interface BillingChoreDeps {
  /** null: no billing is configured; what is due waits. */
  rereads: BillingRereads | null;
  events: { prune(): Promise<number> };
}

/** What billing leaves to be done when nobody waits for it. */
export function billingChores({ rereads, events }: BillingChoreDeps): Chore[] {
  const prune: Chore = {
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
      run: (isStopping) => rereads.workOff(isStopping),
    },
    prune,
  ];
}
