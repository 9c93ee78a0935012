import type { EventLoopUtilization, performance } from "node:perf_hooks";

/**
 * The share of time since the last call in which the event loop of this thread waited for work: 0 to 1. A process that is
 * throttled while it waits (its CPU quota used up) counts as waiting, one throttled while it works as working.
 */
export function createIdleShare({ eventLoopUtilization }: Pick<typeof performance, "eventLoopUtilization">) {
  let seen: EventLoopUtilization = eventLoopUtilization();
  return (): number => {
    const now = eventLoopUtilization();
    const { utilization } = eventLoopUtilization(now, seen);
    seen = now;
    return 1 - utilization;
  };
}
