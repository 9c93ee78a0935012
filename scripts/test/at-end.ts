export interface Closers {
  /** Adds something to close. */
  add(close: () => Promise<void>): void;
  /** Closes all of it, what was added last first. @throws what a closer throws, after the others */
  closeAll(): Promise<void>;
}

export function createClosers(): Closers {
  const closers: (() => Promise<void>)[] = [];
  return {
    add: (close) => void closers.unshift(close),
    async closeAll() {
      const failures: unknown[] = [];
      for (const close of closers.splice(0)) await close().catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw new AggregateError(failures, "what the test files share was not closed");
    },
  };
}

const ofProcess = createClosers();

/** Closes something that files of a process share, after the last of them. */
export const atEndOfProcess = ofProcess.add;

/** @throws as `Closers.closeAll` */
export const endProcess = ofProcess.closeAll;
