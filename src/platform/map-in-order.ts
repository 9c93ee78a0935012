/** Wakes the one that waits for the next change. */
class Change {
  #wake = () => {};

  /** Call it in the tick in which the wait proves necessary, or a change is missed. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  tell(): void {
    this.#wake();
  }
}

interface Begun<R> {
  result: Promise<R>;
  isSettled: boolean;
}

/**
 * Starts an operation for each item, at most `atOnce` at a time, and yields the results in the order of the items. It
 * yields a result without waiting for the next item, since a person may be typing the items.
 * @throws errors of `begin` and `items`, in the order of the items; the reason of `signal` at once
 */
export async function* mapInOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  begin: (item: T) => Promise<R>,
  { atOnce, signal }: { atOnce: number; signal: AbortSignal },
): AsyncGenerator<R> {
  const begun: Begun<R>[] = [];
  const changed = new Change();
  const room = new Change();
  let isRead = false;
  let isLeft = false;

  async function beginAll(): Promise<void> {
    for await (const item of items) {
      while (begun.length >= atOnce && !isLeft) await room.next();
      if (isLeft) return;
      const entry = { result: begin(item), isSettled: false };
      const settle = () => {
        entry.isSettled = true;
        changed.tell();
      };
      entry.result.then(settle, settle);
      begun.push(entry);
    }
  }

  const onAbort = () => changed.tell();
  signal.addEventListener("abort", onAbort);
  const reading = beginAll().finally(() => {
    isRead = true;
    changed.tell();
  });
  // The loop below throws its error, after the results before it.
  reading.catch(() => {});
  try {
    for (;;) {
      signal.throwIfAborted();
      const [first] = begun;
      if (first?.isSettled === true) {
        begun.shift();
        room.tell();
        yield await first.result;
      } else if (first === undefined && isRead) return await reading;
      else await changed.next();
    }
  } finally {
    isLeft = true;
    room.tell();
    signal.removeEventListener("abort", onAbort);
  }
}
