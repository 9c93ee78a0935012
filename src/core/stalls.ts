import type { Clock, Timer } from "./clock.ts";

/** A time is waited for in so many pieces, of which a stall costs one at most. */
const PIECES = 10;

/**
 * Runs `callback` after `delayMs` in which this process had its turns: for the time that another one has to answer. A process
 * that stood still, for want of a CPU mostly, finds its timers due before it looks at its sockets, and would take the answer
 * that lies there for none. However long a stall lasts, it counts as one piece; and the sockets are looked at once more in the end.
 */
export function afterTurns(clock: Pick<Clock, "after">, delayMs: number, callback: () => void): Timer {
  let left = PIECES;
  let timer = clock.after(delayMs / PIECES, next);
  function next(): void {
    left -= 1;
    if (left > 0) timer = clock.after(delayMs / PIECES, next);
    else timer = clock.after(0, callback);
  }
  return { cancel: () => timer.cancel() };
}
