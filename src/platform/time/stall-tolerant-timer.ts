import type { Clock, Timer } from "./clock.ts";

/** A delay is split into this many pieces; a stall costs at most one. */
const STALL_PIECES = 10;

/**
 * Runs `callback` after `delayMs` in which this process actually ran: for timeouts of another party's answer. After a
 * stall, mostly for want of a CPU, timers fire before sockets are read, and an answer that has arrived would count as
 * missing. However long a stall lasts, it counts as one piece; and the sockets are read once more at the end.
 */
export function startStallTolerantTimer(
  clock: Pick<Clock, "after">,
  delayMs: number,
  callback: () => void,
): Timer {
  let left = STALL_PIECES;
  let timer = clock.after(delayMs / STALL_PIECES, next);
  function next(): void {
    left -= 1;
    if (left > 0) timer = clock.after(delayMs / STALL_PIECES, next);
    else timer = clock.after(0, callback);
  }
  return { cancel: () => timer.cancel() };
}
