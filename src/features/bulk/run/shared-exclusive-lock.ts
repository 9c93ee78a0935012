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

export function createSharedExclusiveLock(): SharedExclusiveLock {
  const waiting: { alone: boolean; begin(): void }[] = [];
  let holders = 0;
  let isExclusive = false;
  let openWaiters: (() => void)[] = [];

  const isClosed = () => isExclusive || waiting.some(({ alone }) => alone);

  function admit(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (isExclusive || (next.alone && holders > 0)) return;
      waiting.shift();
      holders += 1;
      isExclusive = next.alone;
      next.begin();
    }
  }

  function release(): void {
    holders -= 1;
    isExclusive = false;
    admit();
    if (isClosed()) return;
    for (const resolve of openWaiters) resolve();
    openWaiters = [];
  }

  return {
    acquire: (exclusive) =>
      new Promise((resolve) => {
        waiting.push({ alone: exclusive, begin: () => resolve(release) });
        admit();
      }),
    whenOpen: () => (isClosed() ? new Promise((resolve) => openWaiters.push(resolve)) : null),
  };
}
