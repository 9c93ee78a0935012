import type { Clock, Timer } from "./clock.ts";

/**
 * Many waits that mostly end early. One timer serves all: a timer for each would cost more than the rest of the wait. Here
 * a wait that ends early costs only adding and deleting an entry.
 */
export interface Deadlines {
  /**
   * Calls `onDue` once when `Clock.monotonic` has reached `dueMs`: never before, and at most `lateMs` later while others
   * wait too.
   */
  at(dueMs: number, onDue: () => void): Timer;
  /** The same for an object that is itself a deadline: it needs no further object. In one `Deadlines` at a time. */
  add(deadline: Deadline): void;
  /** Cancels a wait; no effect after its deadline. */
  remove(deadline: Deadline): void;
}

/** A node of the list of waits. */
interface ListNode {
  /** Neighbours in the list; null: not in a list. Only `Deadlines` uses them. */
  previous: ListNode | null;
  next: ListNode | null;
}

export interface Deadline extends ListNode {
  /** Never changes while it waits. */
  readonly dueMs: number;
  /** Called once. */
  onDue(): void;
}

/**
 * Waits in order of arrival, linked to their neighbours. Not a Set, see docs/decisions/v8-costs.md: with sets and maps of
 * requests in progress, garbage collection took a third of the main thread's time for an uncached answer.
 */
class DeadlineList {
  /** Before the first node and after the last. */
  readonly #end: ListNode = { previous: null, next: null };

  constructor() {
    this.#end.previous = this.#end;
    this.#end.next = this.#end;
  }

  get isEmpty(): boolean {
    return this.#end.next === this.#end;
  }

  add(deadline: Deadline): void {
    const last = this.#end.previous as ListNode;
    deadline.previous = last;
    deadline.next = this.#end;
    last.next = deadline;
    this.#end.previous = deadline;
  }

  /** @returns whether it was in the list */
  remove(node: ListNode): boolean {
    const { previous: before, next: behind } = node;
    if (before === null || behind === null) return false;
    before.next = behind;
    behind.previous = before;
    node.previous = null;
    node.next = null;
    return true;
  }

  *[Symbol.iterator](): Generator<Deadline> {
    for (let node = this.#end.next as ListNode; node !== this.#end; node = node.next as ListNode)
      yield node as Deadline;
  }
}

/** @param lateMs all waits are scanned at most this often: it bounds the work, not only the delay */
export function createDeadlines(clock: Clock, lateMs: number): Deadlines {
  const waiting = new DeadlineList();
  let timer: Timer | null = null;
  /** Monotonic time at which the timer fires, in milliseconds. */
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
    // A timer may fire a fraction of a millisecond early: use the time it was set for.
    const nowMs = Math.max(clock.monotonic(), firesMs);
    disarm();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: Deadline[] = [];
    for (const deadline of waiting) {
      if (deadline.dueMs <= nowMs) due.push(deadline);
      else nextMs = Math.min(nextMs, deadline.dueMs);
    }
    // Re-check each: a callback may have cancelled another one.
    for (const deadline of due) if (waiting.remove(deadline)) deadline.onDue();
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
      const deadline = { dueMs, onDue: callback, previous: null, next: null };
      add(deadline);
      return { cancel: () => remove(deadline) };
    },
    add,
    remove,
  };
}
