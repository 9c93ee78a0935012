import type { BreakerStore, OpenState, OwnState } from "../../src/check/breaker/store.ts";
import { keyOf, type Way } from "../../src/check/breaker/way.ts";
import type { Clock } from "../../src/core/clock.ts";
import { LIMITS } from "../../src/core/limits.ts";

type Listener = (way: Way, state: OpenState | null) => void;

interface Entry {
  level: number;
  since: number;
  due: number;
  trial: { token: string; ends: number } | null;
}

/** What Redis does for breakers, in memory and on one clock. Each `process` is one of an egress. */
export function createMemoryBreakers(clock: Clock) {
  const entries = new Map<string, Entry>();
  const listeners = new Map<BreakerStore, Listener>();
  const now = () => clock.monotonic();

  const entryOf = ({ level, openForMs, dueInMs }: OwnState): Entry => ({
    level,
    since: now() - openForMs,
    due: now() + dueInMs,
    trial: null,
  });

  function read(way: Way): Entry | undefined {
    const entry = entries.get(keyOf(way));
    if (entry?.trial && entry.trial.ends <= now()) entry.trial = null;
    return entry;
  }

  const stateOf = ({ level, since, due, trial }: Entry): OpenState => ({
    level,
    openForMs: now() - since,
    dueInMs: due - now(),
    trial: trial !== null,
  });

  function say(from: BreakerStore, way: Way, entry: Entry | null): void {
    for (const [store, listener] of listeners)
      if (store !== from) listener(way, entry === null ? null : stateOf(entry));
  }

  function process(): BreakerStore {
    const store: BreakerStore = {
      async open(way, mine) {
        const known = read(way);
        const entry = known ?? entryOf(mine);
        entries.set(keyOf(way), entry);
        if (known === undefined) say(store, way, entry);
        return { first: known === undefined, state: stateOf(entry) };
      },
      async look(way) {
        const entry = read(way);
        return entry === undefined ? null : stateOf(entry);
      },
      async take(way, token, mine) {
        const entry = read(way) ?? entryOf(mine);
        entries.set(keyOf(way), entry);
        const granted = entry.trial === null && entry.due <= now();
        if (granted) entry.trial = { token, ends: now() + LIMITS.breaker.trialTtlMs };
        return { granted, state: stateOf(entry) };
      },
      async settle(way, token, settlement) {
        if (settlement.kind === "closed") {
          entries.delete(keyOf(way));
          say(store, way, null);
          return;
        }
        const entry = read(way);
        if (entry?.trial && entry.trial.token !== token) return;
        if (settlement.kind === "open") {
          const again = { ...entryOf(settlement), since: entry?.since ?? now() - settlement.openForMs };
          entries.set(keyOf(way), again);
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
    /** It hears no more. */
    kill: (store: BreakerStore) => void listeners.delete(store),
    clear: () => entries.clear(),
  };
}
