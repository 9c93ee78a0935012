import type { Clock, Timer } from "./clock.ts";

/**
 * Many waits that mostly end before their time. One timer for all: a timer each costs more than all else of a wait, and
 * here a wait that ends in time is an entry made and deleted.
 */
export interface Deadlines {
  /**
   * Calls `callback` once when `Clock.monotonic` has reached `dueMs`: never before, and later by at most `lateMs` while others
   * wait too.
   */
  at(dueMs: number, callback: () => void): Timer;
  /** The same for who is a deadline himself, and needs no object for it. */
  add(deadline: Deadline): void;
  /** Before it was due; else nothing. */
  remove(deadline: Deadline): void;
}

export interface Deadline {
  /** Never changed while it waits. */
  readonly dueMs: number;
  /** Called once. */
  due(): void;
}

/** @param lateMs all that wait are looked through at most this often: it bounds the work, not only the error */
export function createDeadlines(clock: Clock, lateMs: number): Deadlines {
  const waiting = new Set<Deadline>();
  let timer: Timer | null = null;
  /** When it fires. */
  let firesMs = Number.POSITIVE_INFINITY;

  function fireBy(dueMs: number): void {
    if (dueMs >= firesMs) return;
    timer?.cancel();
    firesMs = dueMs;
    timer = clock.after(Math.max(0, dueMs - clock.monotonic()), fire);
  }

  function disarm(): void {
    timer?.cancel();
    timer = null;
    firesMs = Number.POSITIVE_INFINITY;
  }

  function fire(): void {
    // A timer may come a fraction of a millisecond early: it stands for the time that it was made for.
    const nowMs = Math.max(clock.monotonic(), firesMs);
    disarm();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: Deadline[] = [];
    for (const deadline of waiting) {
      if (deadline.dueMs <= nowMs) due.push(deadline);
      else nextMs = Math.min(nextMs, deadline.dueMs);
    }
    // None of them is cancelled by another's callback without that being heard.
    for (const deadline of due) if (waiting.delete(deadline)) deadline.due();
    if (waiting.size > 0) fireBy(Math.max(nextMs, nowMs + lateMs));
  }

  function add(deadline: Deadline): void {
    waiting.add(deadline);
    fireBy(deadline.dueMs);
  }

  function remove(deadline: Deadline): void {
    if (waiting.delete(deadline) && waiting.size === 0) disarm();
  }

  return {
    at(dueMs, callback) {
      const deadline = { dueMs, due: callback };
      add(deadline);
      return { cancel: () => remove(deadline) };
    },
    add,
    remove,
  };
}
