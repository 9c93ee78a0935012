/** Ends a turn. */
export type EndTurn = () => void;

/**
 * Turns of a worker's tasks: many at once, or one alone. In the order of asking, so that who wants to be alone is not
 * passed over for ever. What came behind him would wait in vain meanwhile: who can, leaves it to others.
 */
export interface Turns {
  take(alone: boolean): Promise<EndTurn>;
  /** null: turns are to be had. Else somebody is alone, or waits to be: resolves when nobody is or does. */
  opened(): Promise<void> | null;
}

export function createTurns(): Turns {
  const waiting: { alone: boolean; begin(): void }[] = [];
  let taken = 0;
  let isAlone = false;
  let onOpen: (() => void)[] = [];

  const isClosed = () => isAlone || waiting.some(({ alone }) => alone);

  function admit(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (isAlone || (next.alone && taken > 0)) return;
      waiting.shift();
      taken += 1;
      isAlone = next.alone;
      next.begin();
    }
  }

  function end(): void {
    taken -= 1;
    isAlone = false;
    admit();
    if (isClosed()) return;
    for (const resolve of onOpen) resolve();
    onOpen = [];
  }

  return {
    take: (alone) =>
      new Promise((resolve) => {
        waiting.push({ alone, begin: () => resolve(end) });
        admit();
      }),
    opened: () => (isClosed() ? new Promise((resolve) => onOpen.push(resolve)) : null),
  };
}
