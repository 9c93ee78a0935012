import type { EventLoopUtilization, performance } from "node:perf_hooks";

/**
 * Of the time since it was asked last, the share in which the event loop of this thread waited for something to do: 0 to 1. A
 * process that is held back while it waits (a quota of CPU used up) counts as waiting, one that is while it works as working.
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
