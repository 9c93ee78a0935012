import { AppError } from "./errors.ts";
import { ShareTurns } from "./fair-queue.ts";
import { createTeamSlots } from "./team-slots.ts";
import type { Clock, Timer } from "./time/clock.ts";

/** Maximum permits at once, maximum further callers that may wait for one, and their maximum wait. */
export interface SemaphoreLimits {
  atOnce: number;
  waiting: number;
  waitMs: number;
  /** Maximum callers of one share that may wait; absent: `waiting`. */
  waitingPerShare?: number;
  /** The part of `waiting` reserved for shares without a waiter; absent: 0. */
  waitingKept?: number;
}

/** Permits for a bounded resource. Next is a caller of the share served longest ago, and of one share the first that came. */
export interface Semaphore {
  /**
   * Resolves when the caller has a permit, with an idempotent function that releases it.
   * @param share whose turn it uses: see `shareKey`; absent: one share for all such callers
   * @throws SemaphoreFull when too many wait already, in all or of the share, or the wait took too long; the signal's reason
   *   as soon as it is cancelled
   */
  acquire(cancelled?: AbortSignal, share?: string): Promise<() => void>;
}

/** Too many callers want the same resource. A later attempt may succeed. */
export class SemaphoreFull extends AppError {
  constructor(what: string) {
    super("overloaded", `Too many requests for ${what} at once. Retry after 1 s.`, { retryAfterS: 1 });
    this.name = "SemaphoreFull";
  }
}

interface SemaphoreWaiter {
  share: string;
  begin(): void;
}

/** @param what names the bounded resource */
export function createSemaphore(
  { atOnce, waiting, waitMs, waitingPerShare = waiting, waitingKept = 0 }: SemaphoreLimits,
  what: string,
  clock: Clock,
): Semaphore {
  /** Waiters in order of arrival. */
  const queue = new Set<SemaphoreWaiter>();
  const places = createTeamSlots(
    { all: waiting, perShare: waitingPerShare, kept: waitingKept },
    () => new SemaphoreFull(what),
  );
  const turns = new ShareTurns();
  let held = 0;

  function release(): void {
    held -= 1;
    turns.next(queue)?.begin();
  }

  function admit(share: string): () => void {
    held += 1;
    turns.take(share);
    let holds = true;
    return () => {
      if (holds) release();
      holds = false;
    };
  }

  function wait(share: string, cancelled?: AbortSignal): Promise<() => void> {
    const giveBack = places.take(share);
    return new Promise((resolve, reject) => {
      let timer: Timer | null = null;
      const leave = () => {
        queue.delete(waiter);
        giveBack();
        timer?.cancel();
        cancelled?.removeEventListener("abort", cancel);
      };
      const cancel = () => {
        leave();
        reject(cancelled?.reason);
      };
      const waiter = {
        share,
        begin() {
          leave();
          resolve(admit(share));
        },
      };
      queue.add(waiter);
      timer = clock.after(waitMs, () => {
        leave();
        reject(new SemaphoreFull(what));
      });
      cancelled?.addEventListener("abort", cancel, { once: true });
    });
  }

  return {
    async acquire(cancelled, share = "") {
      cancelled?.throwIfAborted();
      return held < atOnce ? admit(share) : wait(share, cancelled);
    },
  };
}
