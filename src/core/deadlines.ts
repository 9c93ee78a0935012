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
  /** The same for who is a deadline himself, and needs no object for it. In one `Deadlines` at a time. */
  add(deadline: Deadline): void;
  /** Before it was due; else nothing. */
  remove(deadline: Deadline): void;
}

/** Where something stands in the line of those that wait. */
interface Place {
  /** Its neighbours; null: it does not wait. Of `Deadlines` alone. */
  before: Place | null;
  behind: Place | null;
}

export interface Deadline extends Place {
  /** Never changed while it waits. */
  readonly dueMs: number;
  /** Called once. */
  due(): void;
}

/**
 * Those that wait, in the order in which they came, each linked to its neighbours. Not a Set, as little as `PassingMap` is a Map: with
 * sets and maps of requests under way a third of the main thread's time for an uncached answer was the collector's.
 */
class Line {
  /** Before the first and behind the last. */
  readonly #end: Place = { before: null, behind: null };

  constructor() {
    this.#end.before = this.#end;
    this.#end.behind = this.#end;
  }

  get isEmpty(): boolean {
    return this.#end.behind === this.#end;
  }

  add(deadline: Deadline): void {
    const last = this.#end.before as Place;
    deadline.before = last;
    deadline.behind = this.#end;
    last.behind = deadline;
    this.#end.before = deadline;
  }

  /** @returns whether it was there */
  remove(place: Place): boolean {
    const { before, behind } = place;
    if (before === null || behind === null) return false;
    before.behind = behind;
    behind.before = before;
    place.before = null;
    place.behind = null;
    return true;
  }

  *[Symbol.iterator](): Generator<Deadline> {
    for (let place = this.#end.behind as Place; place !== this.#end; place = place.behind as Place)
      yield place as Deadline;
  }
}

/** @param lateMs all that wait are looked through at most this often: it bounds the work, not only the error */
export function createDeadlines(clock: Clock, lateMs: number): Deadlines {
  const waiting = new Line();
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
    for (const deadline of due) if (waiting.remove(deadline)) deadline.due();
    if (!waiting.isEmpty) fireBy(Math.max(nextMs, nowMs + lateMs));
  }

  function add(deadline: Deadline): void {
    waiting.add(deadline);
    fireBy(deadline.dueMs);
  }

  function remove(deadline: Deadline): void {
    if (waiting.remove(deadline) && waiting.isEmpty) disarm();
  }

  return {
    at(dueMs, callback) {
      const deadline = { dueMs, due: callback, before: null, behind: null };
      add(deadline);
      return { cancel: () => remove(deadline) };
    },
    add,
    remove,
  };
}
