import { LIMITS } from "../core/limits.ts";
import type { QuotaThresholds } from "../services/quota/thresholds.ts";
import type { UsageStore } from "../store/usage.ts";
import type { Chore } from "./relay.ts";

export interface UsageChoreDeps {
  usage: Pick<UsageStore, "prune">;
  thresholds: QuotaThresholds;
}

/** Tells teams how far their quota has gone, and clears away what is too old to be reported. */
export function usageChores({ usage, thresholds }: UsageChoreDeps): Chore[] {
  async function prune(isStopping: () => boolean): Promise<void> {
    for (let round = 0; round < LIMITS.usage.pruneRounds && !isStopping(); round++)
      if ((await usage.prune()) < LIMITS.usage.prunedPerRound) return;
  }
  return [
    { name: "quota thresholds", everyMs: LIMITS.usage.thresholdsEveryMs, run: thresholds.look },
    { name: "prune usage", everyMs: LIMITS.relay.pruneEveryMs, run: prune },
  ];
}
