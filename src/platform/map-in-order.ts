/** Wakes the one that waits for the next change. */
class Change {
  #wake = () => {};

  /** To be called in the same tick in which it was found that there is something to wait for. */
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
 * Begins each item, at most `atOnce` of them at a time, and gives the results in the order of the items. A result is given as
 * soon as its turn has come, also while the next item is waited for: items may come from a person who types them.
 * @throws what `begin` or `items` threw, in its turn; at once what `signal` is aborted with, even where no item comes
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
  // Its error is thrown in its turn, below.
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
