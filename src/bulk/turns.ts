/** Ends a turn. */
export type EndTurn = () => void;

/**
 * Turns of a worker's tasks: many at once, or one alone. In the order of asking, so that who wants to be alone is not
 * passed over for ever.
 */
export interface Turns {
  take(alone: boolean): Promise<EndTurn>;
}

export function createTurns(): Turns {
  const waiting: { alone: boolean; begin(): void }[] = [];
  let taken = 0;
  let isAlone = false;

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
  }

  return {
    take: (alone) =>
      new Promise((resolve) => {
        waiting.push({ alone, begin: () => resolve(end) });
        admit();
      }),
  };
}
