import { LIMITS } from "../../../config/limits/limits.ts";
import type { PeriodicTask } from "../../../platform/periodic/periodic-tasks.ts";
import type { Clock } from "../../../platform/time/clock.ts";

/** A count of the pipeline for the operator and the autoscaler. */
export interface PipelineCount {
  name: string;
  /** Rejects when the count fails. */
  count(): Promise<void>;
  /** The count failed: the last value is no longer valid. */
  forget(): void;
}

/**
 * Runs each count at its own interval: with very many tasks some counts take long, and must not delay the others.
 * @param onAllCounted called, with the oldest count's time in epoch milliseconds, whenever all have been counted
 */
export function pipelineCountTasks(
  counts: readonly PipelineCount[],
  clock: Clock,
  onAllCounted: (sinceMs: number) => void,
): PeriodicTask[] {
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
      if (countedMs.size === counts.length) onAllCounted(Math.min(...countedMs.values()));
    },
  }));
}
