/** Runs work of the same key one after another, in order of arrival. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** @param waitMs work that has waited for so long begins all the same */
export function createTurns(waitMs: number): InTurn {
  /** The end of the last work of each key that has any. */
  const ends = new Map<string, Promise<void>>();

  return async (key, work) => {
    const before = ends.get(key);
    const { promise: end, resolve: finish } = withResolvers();
    ends.set(key, end);
    try {
      if (before !== undefined) await atMost(before, waitMs);
      return await work();
    } finally {
      finish();
      if (ends.get(key) === end) ends.delete(key);
    }
  };
}

function withResolvers(): { promise: Promise<void>; resolve(): void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function atMost(before: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void before.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
