import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Chore } from "./relay.ts";

/** Something of the pipeline that is counted for the operator and the autoscaler. */
export interface PipelineCount {
  name: string;
  /** Rejects when it cannot be counted now. */
  count(): Promise<void>;
  /** It could not be counted: what was known of it is known no longer. */
  forget(): void;
}

/**
 * Each count on a beat of its own: of very many tasks some take long, and none waits for them.
 * @param onAll told, with the oldest count's moment in epoch milliseconds, whenever all have been counted
 */
export function countingChores(
  counts: readonly PipelineCount[],
  clock: Clock,
  onAll: (sinceMs: number) => void,
): Chore[] {
  const countedMs = new Map<PipelineCount, number>();
  return counts.map((count) => ({
    name: `count ${count.name}`,
    everyMs: LIMITS.bulk.countEveryMs,
    async run() {
      const nowMs = clock.now();
      try {
        await count.count();
      } catch (error) {
        count.forget();
        throw error;
      }
      countedMs.set(count, nowMs);
      if (countedMs.size === counts.length) onAll(Math.min(...countedMs.values()));
    },
  }));
}
