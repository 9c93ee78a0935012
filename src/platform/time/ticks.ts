export interface TickBatch<T> {
  add(item: T): void;
  /** Flushes the items gathered so far, if any. */
  flush(): void;
}

/**
 * Batches the items of one tick into one call, message or write, which costs little more than one for a single item.
 * @param maxItems flush at once at this number
 * @param flush gets them in order, at least one; must not throw
 * @param runAtEnd runs its callback at the end of the tick
 */
export function batchPerTick<T>(
  maxItems: number,
  flush: (items: T[]) => void,
  runAtEnd: (callback: () => void) => void = runAtEndOfTick,
): TickBatch<T> {
  let pending: T[] = [];
  function send(): void {
    if (pending.length === 0) return;
    const items = pending;
    pending = [];
    flush(items);
  }
  return {
    add(item) {
      const count = pending.push(item);
      if (count === maxItems) send();
      else if (count === 1) runAtEnd(send);
    },
    flush: send,
  };
}

const RESOLVED = Promise.resolve();

/**
 * Runs after the current call, before any further event. `queueMicrotask` does the same but creates an async resource each
 * time: 450 ns instead of 65, which matters when done for each answer.
 *
 * @param callback must not throw
 */
export function runAfterCurrentCall(callback: () => void): void {
  void RESOLVED.then(callback);
}

let callbacks: (() => void)[] = [];
let isScheduled = false;

function onTickEnd(): void {
  isScheduled = false;
  runEndOfTickNow();
}

/**
 * Runs after the sockets that were read, before the next timers; sooner in a long tick, see `runEndOfTickNow`.
 *
 * @param callback must not throw
 */
export function runAtEndOfTick(callback: () => void): void {
  callbacks.push(callback);
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(onTickEnd);
}

/** Runs the callbacks for the end of this tick now: there is more to read than will be read soon. */
export function runEndOfTickNow(): void {
  const due = callbacks;
  callbacks = [];
  for (const callback of due) callback();
}
