import { LRUCache } from "lru-cache";

/** Runs work in turns: next that of the share served longest ago, and of one share in order of arrival. */
export interface FairQueue {
  /** @param share whose turn it uses. @throws what `work` throws */
  run<T>(share: string, work: () => Promise<T>): Promise<T>;
}

export interface FairQueueLimits {
  /** Work under way at once. */
  atOnce: number;
  /** Of one share. */
  perShare: number;
}

/** Shares whose last turn is remembered: more than have work within minutes. */
const SHARES = 1_000;

/** The work of a share that has any. */
interface ShareWork {
  /** In order of arrival. */
  waiting: (() => void)[];
  underWay: number;
}

/** The caller bounds how much waits: each turn looks at all shares that have work. */
export function createFairQueue(
  { atOnce, perShare }: FairQueueLimits = { atOnce: 1, perShare: 1 },
): FairQueue {
  const shares = new Map<string, ShareWork>();
  /** Number of the last turn of each share. */
  const lastTurns = new LRUCache<string, number>({ max: SHARES });
  let turn = 0;
  let underWay = 0;

  function workOf(share: string): ShareWork {
    const known = shares.get(share);
    if (known !== undefined) return known;
    const work: ShareWork = { waiting: [], underWay: 0 };
    shares.set(share, work);
    return work;
  }

  /** null: no share has work that may begin. */
  function nextShare(): string | null {
    let next: string | null = null;
    let longestAgo = Number.POSITIVE_INFINITY;
    for (const [share, work] of shares) {
      const lastTurn = lastTurns.peek(share) ?? 0;
      if (work.waiting.length === 0 || work.underWay >= perShare || lastTurn >= longestAgo) continue;
      next = share;
      longestAgo = lastTurn;
    }
    return next;
  }

  function takeNext(): void {
    const share = underWay < atOnce ? nextShare() : null;
    if (share === null) return;
    const work = workOf(share);
    const begin = work.waiting.shift();
    work.underWay += 1;
    underWay += 1;
    turn += 1;
    lastTurns.set(share, turn);
    begin?.();
  }

  function end(share: string): void {
    const work = workOf(share);
    work.underWay -= 1;
    underWay -= 1;
    if (work.underWay === 0 && work.waiting.length === 0) shares.delete(share);
    takeNext();
  }

  return {
    async run(share, work) {
      await new Promise<void>((begin) => {
        workOf(share).waiting.push(begin);
        takeNext();
      });
      try {
        return await work();
      } finally {
        end(share);
      }
    },
  };
}
