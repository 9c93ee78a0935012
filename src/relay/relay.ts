import type { Clock, Timer } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";

/** One of the relay's chores. Idempotent: any number of relays may do it at once. */
export interface Chore {
  name: string;
  /** From the end of one run to the start of the next. */
  everyMs: number;
  /**
   * Rejects when it could not be done; it is tried again when it is next due. A chore of many rounds ends early, and
   * without loss, once `isStopping` says so.
   */
  run(isStopping: () => boolean): Promise<unknown>;
}

export interface RelayDeps {
  chores: readonly Chore[];
  clock: Clock;
  log: Logger;
}

/**
 * The role `relay`: what has to be done now and then by somebody, for all. Each chore runs on its own beat, never twice
 * at once in a process; a chore that fails is logged and does not hold up the others. No leader: chores settle what is
 * due under the database's locks, so two relays at once do each thing once.
 */
export function createRelay(deps: RelayDeps): Part {
  const { chores, clock, log } = deps;
  const timers = new Map<string, Timer>();
  const running = new Set<Promise<void>>();
  let stopping = false;

  async function perform(chore: Chore): Promise<void> {
    try {
      await chore.run(() => stopping);
    } catch (error) {
      log.warn({ err: error, chore: chore.name }, "a chore of the relay failed");
    }
  }

  function schedule(chore: Chore): void {
    const timer = clock.after(chore.everyMs, () => {
      const work = perform(chore).finally(() => {
        running.delete(work);
        if (!stopping) schedule(chore);
      });
      running.add(work);
    });
    timers.set(chore.name, timer);
  }

  return {
    name: "relay",
    start() {
      for (const chore of chores) schedule(chore);
    },
    async drain() {
      stopping = true;
      for (const timer of timers.values()) timer.cancel();
      await Promise.all(running);
    },
  };
}
