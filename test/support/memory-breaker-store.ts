import { LIMITS } from "../../src/config/limits/limits.ts";
import { type BreakerScope, keyOfScope } from "../../src/egress/breaker/scope.ts";
import type { BreakerStore, LocalBreakerState, OpenBreakerState } from "../../src/egress/breaker/store.ts";
import type { Clock } from "../../src/platform/time/clock.ts";

type Listener = (way: BreakerScope, state: OpenBreakerState | null) => void;

interface Entry {
  level: number;
  since: number;
  due: number;
  trial: { token: string; ends: number } | null;
}

/** The breaker store that processes of one egress share, in memory and on one clock instead of Redis. */
export function createMemoryBreakers(clock: Clock) {
  const entries = new Map<string, Entry>();
  const listeners = new Map<BreakerStore, Listener>();
  const now = () => clock.monotonic();

  const entryOf = ({ level, openForMs, dueInMs }: LocalBreakerState): Entry => ({
    level,
    since: now() - openForMs,
    due: now() + dueInMs,
    trial: null,
  });

  function read(way: BreakerScope): Entry | undefined {
    const entry = entries.get(keyOfScope(way));
    if (entry?.trial && entry.trial.ends <= now()) entry.trial = null;
    return entry;
  }

  const stateOf = ({ level, since, due, trial }: Entry): OpenBreakerState => ({
    level,
    openForMs: now() - since,
    dueInMs: due - now(),
    trial: trial !== null,
  });

  function say(from: BreakerStore, way: BreakerScope, entry: Entry | null): void {
    for (const [store, listener] of listeners)
      if (store !== from) listener(way, entry === null ? null : stateOf(entry));
  }

  function process(): BreakerStore {
    const store: BreakerStore = {
      async open(way, mine) {
        const known = read(way);
        const entry = known ?? entryOf(mine);
        entries.set(keyOfScope(way), entry);
        if (known === undefined) say(store, way, entry);
        return { first: known === undefined, state: stateOf(entry) };
      },
      async read(way) {
        const entry = read(way);
        return entry === undefined ? null : stateOf(entry);
      },
      async takeTrial(way, token, mine) {
        const entry = read(way) ?? entryOf(mine);
        entries.set(keyOfScope(way), entry);
        const granted = entry.trial === null && entry.due <= now();
        if (granted) entry.trial = { token, ends: now() + LIMITS.breaker.trialTtlMs };
        return { granted, state: stateOf(entry) };
      },
      async settleTrial(way, token, settlement) {
        if (settlement.kind === "closed") {
          entries.delete(keyOfScope(way));
          say(store, way, null);
          return;
        }
        const entry = read(way);
        if (entry?.trial && entry.trial.token !== token) return;
        if (settlement.kind === "open") {
          const again = { ...entryOf(settlement), since: entry?.since ?? now() - settlement.openForMs };
          entries.set(keyOfScope(way), again);
          say(store, way, again);
        } else if (entry?.trial) {
          entry.trial = null;
          say(store, way, entry);
        }
      },
      listen: (listener) => void listeners.set(store, listener),
    };
    return store;
  }

  return {
    process,
    /** The process receives no more changes. */
    kill: (store: BreakerStore) => void listeners.delete(store),
    clear: () => entries.clear(),
  };
}
