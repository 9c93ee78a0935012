import { LRUCache } from "lru-cache";

/** Shares whose last turn is remembered: more than have work within minutes. */
const SHARES = 1_000;

/** Turns of what waits: next is what is of the share served longest ago, and of several such the first. */
export class ShareTurns {
  /** Number of the last turn of each share. */
  readonly #last = new LRUCache<string, number>({ max: SHARES });
  #turn = 0;

  /** Notes that the share has its turn. */
  take(share: string): void {
    this.#turn += 1;
    this.#last.set(share, this.#turn);
  }

  /** The caller bounds how much waits: each turn looks at all. */
  next<Waiting extends { share: string }>(all: Iterable<Waiting>): Waiting | null {
    let next: Waiting | null = null;
    let longestAgo = Number.POSITIVE_INFINITY;
    for (const waiting of all) {
      const lastTurn = this.#last.peek(waiting.share) ?? 0;
      if (lastTurn >= longestAgo) continue;
      next = waiting;
      longestAgo = lastTurn;
    }
    return next;
  }
}

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

/** The work of a share that has any. */
interface ShareWork {
  share: string;
  /** In order of arrival. */
  waiting: (() => void)[];
  underWay: number;
}

/** The caller bounds how much waits: each turn looks at all shares that have work. */
export function createFairQueue(
  { atOnce, perShare }: FairQueueLimits = { atOnce: 1, perShare: 1 },
): FairQueue {
  const shares = new Map<string, ShareWork>();
  const turns = new ShareTurns();
  let underWay = 0;

  function workOf(share: string): ShareWork {
    const known = shares.get(share);
    if (known !== undefined) return known;
    const work: ShareWork = { share, waiting: [], underWay: 0 };
    shares.set(share, work);
    return work;
  }

  /** Work of the shares that may begin some. */
  function* ready(): Generator<ShareWork> {
    for (const work of shares.values()) if (work.waiting.length > 0 && work.underWay < perShare) yield work;
  }

  function takeNext(): void {
    const work = underWay < atOnce ? turns.next(ready()) : null;
    if (work === null) return;
    const begin = work.waiting.shift();
    work.underWay += 1;
    underWay += 1;
    turns.take(work.share);
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
