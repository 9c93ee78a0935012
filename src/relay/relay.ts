import type { Clock, Timer } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";

/** One of the relay's chores. Idempotent: any number of relays may do it at once. */
interface Chore {
  name: string;
  everyMs: number;
  /** Rejects when it could not be done; it is tried again when it is next due. */
  run(): Promise<unknown>;
}

export interface RelayDeps {
  ledger: { reap(): Promise<number> };
  changes: { prune(): Promise<void> };
  clock: Clock;
  log: Logger;
}

/**
 * The role `relay`: what has to be done now and then by somebody, for all. Each chore runs on its own beat, never twice
 * at once in a process; a chore that fails is logged and does not hold up the others. No leader: chores settle what is
 * due under the database's locks, so two relays at once do each thing once.
 */
export function createRelay(deps: RelayDeps): Part {
  const { ledger, changes, clock, log } = deps;
  const chores: Chore[] = [
    { name: "reap quota leases", everyMs: LIMITS.relay.everyMs, run: reapAll },
    { name: "prune auth changes", everyMs: LIMITS.relay.pruneEveryMs, run: () => changes.prune() },
  ];
  const timers = new Map<string, Timer>();
  const running = new Set<Promise<void>>();
  let stopping = false;

  /** Rounds until none is due, or the rest may wait for the next beat. */
  async function reapAll(): Promise<void> {
    for (let round = 0; round < LIMITS.relay.reapRounds && !stopping; round++) {
      if ((await ledger.reap()) < LIMITS.quota.leasesReapedPerRound) return;
    }
  }

  async function perform(chore: Chore): Promise<void> {
    try {
      await chore.run();
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
