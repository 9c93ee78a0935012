import { LRUCache } from "lru-cache";

/** Runs work one at a time: next that of the share served longest ago, and of one share in order of arrival. */
export interface FairQueue {
  /** @param share whose turn it uses. @throws what `work` throws */
  run<T>(share: string, work: () => Promise<T>): Promise<T>;
}

/** Shares whose last turn is remembered: more than have work within minutes. */
const SHARES = 1_000;

/** The caller bounds how much waits: each turn looks at all of it. */
export function createFairQueue(): FairQueue {
  /** In order of arrival. */
  const waiting: { share: string; begin: () => void }[] = [];
  /** Number of the last turn of each share. */
  const lastTurns = new LRUCache<string, number>({ max: SHARES });
  let turn = 0;
  let isBusy = false;

  const lastTurnOf = (share: string) => lastTurns.peek(share) ?? 0;

  function takeNext(): void {
    const [first, ...others] = waiting;
    isBusy = first !== undefined;
    if (first === undefined) return;
    const next = others.reduce(
      (best, one) => (lastTurnOf(one.share) < lastTurnOf(best.share) ? one : best),
      first,
    );
    waiting.splice(waiting.indexOf(next), 1);
    turn += 1;
    lastTurns.set(next.share, turn);
    next.begin();
  }

  return {
    async run(share, work) {
      await new Promise<void>((begin) => {
        waiting.push({ share, begin });
        if (!isBusy) takeNext();
      });
      try {
        return await work();
      } finally {
        takeNext();
      }
    },
  };
}
