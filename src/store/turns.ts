import type { Clock, Timer } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";

/** How many may be at it at once, how many more may wait for that, and for how long. */
export interface TurnsLimits {
  atOnce: number;
  waiting: number;
  waitMs: number;
}

/** Turns at something of which there is only so much; first come, first served. */
export interface Turns {
  /**
   * Resolves when it is the caller's turn, with how to end it; idempotent.
   * @throws TurnsTaken when too many wait already, or it took too long; the signal's reason as soon as it is cancelled
   */
  take(cancelled?: AbortSignal): Promise<() => void>;
}

/** Too many want the same at once. It may be had later. */
export class TurnsTaken extends AppError {
  constructor(what: string) {
    super("overloaded", `Too much is asked of ${what} at once. Try again.`, { retryAfterS: 1 });
    this.name = "TurnsTaken";
  }
}

interface Waiting {
  begin(): void;
}

/** @param what there is only so much of */
export function createTurns({ atOnce, waiting, waitMs }: TurnsLimits, what: string, clock: Clock): Turns {
  /** In the order in which they came. */
  const queue = new Set<Waiting>();
  let underWay = 0;

  function end(): void {
    underWay -= 1;
    const [next] = queue;
    next?.begin();
  }

  function begin(): () => void {
    underWay += 1;
    let holds = true;
    return () => {
      if (holds) end();
      holds = false;
    };
  }

  function wait(cancelled?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let timer: Timer | null = null;
      const leave = () => {
        queue.delete(mine);
        timer?.cancel();
        cancelled?.removeEventListener("abort", cancel);
      };
      const cancel = () => {
        leave();
        reject(cancelled?.reason);
      };
      const mine = {
        begin() {
          leave();
          resolve(begin());
        },
      };
      queue.add(mine);
      timer = clock.after(waitMs, () => {
        leave();
        reject(new TurnsTaken(what));
      });
      cancelled?.addEventListener("abort", cancel, { once: true });
    });
  }

  return {
    async take(cancelled) {
      cancelled?.throwIfAborted();
      if (underWay < atOnce) return begin();
      if (queue.size >= waiting) throw new TurnsTaken(what);
      return wait(cancelled);
    },
  };
}
