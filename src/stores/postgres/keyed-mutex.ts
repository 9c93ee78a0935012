/** The lock was not available in time: an outage to callers, as PostgreSQL's own lock timeout is. */
class MutexTimeout extends Error {
  readonly code = "55P03";
}

/**
 * Runs work of one key one after another, in order of arrival.
 * @throws Error with the code 55P03 when earlier work has not ended in time
 */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedMutex(waitMs: number): KeyedMutex {
  /** Resolves when the last work of a key, and all before it, has ended. */
  const ends = new Map<string, Promise<void>>();

  return (key, work) => {
    const before = ends.get(key);
    const outcome = before === undefined ? work() : within(before, waitMs).then(work);
    // Work that did not wait long enough leaves earlier work under way.
    const end = outcome.then(ignore, ignore).then(() => before);
    ends.set(key, end);
    void end.then(() => {
      if (ends.get(key) === end) ends.delete(key);
    });
    return outcome;
  };
}

const ignore = () => undefined;

function within(before: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new MutexTimeout(`earlier transactions have not ended within ${ms} ms`));
    const timer = setTimeout(late, ms);
    void before.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
