import { AppError } from "./errors.ts";
import type { Clock, Timer } from "./time/clock.ts";

/** Maximum permits at once, maximum further callers that may wait for one, and their maximum wait. */
export interface SemaphoreLimits {
  atOnce: number;
  waiting: number;
  waitMs: number;
}

/** Permits for a bounded resource; first come, first served. */
export interface Semaphore {
  /**
   * Resolves when the caller has a permit, with an idempotent function that releases it.
   * @throws SemaphoreFull when too many wait already, or the wait took too long; the signal's reason as soon as it is
   *   cancelled
   */
  acquire(cancelled?: AbortSignal): Promise<() => void>;
}

/** Too many callers want the same resource. A later attempt may succeed. */
export class SemaphoreFull extends AppError {
  constructor(what: string) {
    super("overloaded", `Too many requests for ${what} at once. Retry after 1 s.`, { retryAfterS: 1 });
    this.name = "SemaphoreFull";
  }
}

interface SemaphoreWaiter {
  begin(): void;
}

/** @param what names the bounded resource */
export function createSemaphore(
  { atOnce, waiting, waitMs }: SemaphoreLimits,
  what: string,
  clock: Clock,
): Semaphore {
  /** Waiters in order of arrival. */
  const queue = new Set<SemaphoreWaiter>();
  let held = 0;

  function release(): void {
    held -= 1;
    const [next] = queue;
    next?.begin();
  }

  function admit(): () => void {
    held += 1;
    let holds = true;
    return () => {
      if (holds) release();
      holds = false;
    };
  }

  function wait(cancelled?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let timer: Timer | null = null;
      const leave = () => {
        queue.delete(waiter);
        timer?.cancel();
        cancelled?.removeEventListener("abort", cancel);
      };
      const cancel = () => {
        leave();
        reject(cancelled?.reason);
      };
      const waiter = {
        begin() {
          leave();
          resolve(admit());
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
    async acquire(cancelled) {
      cancelled?.throwIfAborted();
      if (held < atOnce) return admit();
      if (queue.size >= waiting) throw new SemaphoreFull(what);
      return wait(cancelled);
    },
  };
}
