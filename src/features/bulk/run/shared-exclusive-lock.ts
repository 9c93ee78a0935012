import { createRowSlots } from "./row-slots.ts";

/** Releases the lock. */
export type Release = () => void;

/**
 * The lock of a worker's tasks: shared by many at once, or held by one alone. It is granted in the order of requests, so
 * that an exclusive request is not starved. Tasks behind it would wait, so a worker leaves new ones to other workers during
 * that time.
 */
export interface SharedExclusiveLock {
  acquire(exclusive: boolean): Promise<Release>;
  /** null: the lock can be shared now. Otherwise a task holds it alone, or waits to: resolves when no task does. */
  whenOpen(): Promise<void> | null;
}

/** More than there are tasks in a worker. */
const ALL_SLOTS = Number.MAX_SAFE_INTEGER;

export function createSharedExclusiveLock(): SharedExclusiveLock {
  const slots = createRowSlots(ALL_SLOTS);
  /** Tasks that hold it alone, or wait to. */
  let alone = 0;
  let openWaiters: (() => void)[] = [];

  function endAlone(): void {
    alone -= 1;
    if (alone > 0) return;
    for (const resolve of openWaiters) resolve();
    openWaiters = [];
  }

  return {
    async acquire(exclusive) {
      if (exclusive) alone += 1;
      const held = await slots.acquire(exclusive ? ALL_SLOTS : 1);
      return () => {
        held.shrinkTo(0);
        if (exclusive) endAlone();
      };
    },
    whenOpen: () => (alone > 0 ? new Promise((resolve) => openWaiters.push(resolve)) : null),
  };
}
