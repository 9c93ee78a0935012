export interface WaitingRoom {
  /** Resolves once `condition` holds, checked now and after every `changed`; rejects on `close`. */
  until(condition: () => boolean): Promise<void>;
  changed(): void;
  close(): void;
}

interface Waiter {
  condition: () => boolean;
  resolve(): void;
  reject(error: Error): void;
}

/** Lets tests wait for an event instead of sleeping. */
export function createWaitingRoom(): WaitingRoom {
  const waiters = new Set<Waiter>();
  return {
    until: (condition) =>
      new Promise((resolve, reject) => {
        if (condition()) resolve();
        else waiters.add({ condition, resolve, reject });
      }),
    changed() {
      for (const waiter of waiters) {
        if (!waiter.condition()) continue;
        waiters.delete(waiter);
        waiter.resolve();
      }
    },
    close() {
      for (const waiter of waiters) waiter.reject(new Error("the mail world closed"));
      waiters.clear();
    },
  };
}
