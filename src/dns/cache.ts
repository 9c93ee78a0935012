import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Aside, DnsOutcome, TextResolver } from "./resolver.ts";

/** What became of a look-up. `hit`: nobody was asked for its sake; `absent`: the name, or such a record, is not there. */
export type LookUpResult = "hit" | "answered" | "absent" | "failed";

interface Entry {
  outcome: DnsOutcome<unknown>;
  storedAt: number;
  expiresAt: number;
}

/** How long an outcome may be served again, in milliseconds; 0: not at all. */
function lifetimeMs(outcome: DnsOutcome<unknown>): number {
  if (outcome.status === "server_failure") return LIMITS.dns.failureTtlMs;
  if (outcome.status === "no_answer") return outcome.code === "overloaded" ? 0 : LIMITS.dns.failureTtlMs;
  return Math.max(LIMITS.dns.ttlMinS, outcome.ttlS) * 1_000;
}

/** The outcome as it is after `ageMs`: what is left of its TTL. */
function aged<T>(outcome: DnsOutcome<T>, ageMs: number): DnsOutcome<T> {
  if (!("ttlS" in outcome) || ageMs < 1_000) return outcome;
  return { ...outcome, ttlS: Math.max(0, outcome.ttlS - Math.floor(ageMs / 1_000)) };
}

function resultOf({ status }: DnsOutcome<unknown>): LookUpResult {
  if (status === "ok") return "answered";
  return status === "no_data" || status === "nxdomain" ? "absent" : "failed";
}

/** Characters of texts that count as a record: strangers' texts may be long. */
const CHARS_A_RECORD = 100;

function sizeOf({ outcome }: Entry): number {
  if (outcome.status !== "ok") return 1;
  const chars = outcome.records.reduce<number>(
    (sum, record) => sum + (typeof record === "string" ? record.length : 0),
    0,
  );
  return 1 + outcome.records.length + Math.floor(chars / CHARS_A_RECORD);
}

/**
 * A cache before `inner`, negative answers included: an answer lives for its TTL, at least `LIMITS.dns.ttlMinS`, a
 * failure for `failureTtlMs`. Concurrent questions for one name and type share one query. `ttlS` counts down.
 * Closing it closes `inner`.
 * @param onLookUp told of every look-up, of one that is asked for once it is answered
 */
export function createCachingResolver(
  inner: TextResolver,
  clock: Clock,
  onLookUp: (result: LookUpResult) => void = () => {},
): TextResolver {
  const entries = new LRUCache<string, Entry>({
    max: LIMITS.dns.cacheEntries,
    maxSize: LIMITS.dns.cacheRecords,
    sizeCalculation: sizeOf,
  });
  const flights = new Map<string, Promise<DnsOutcome<unknown>>>();

  function store(key: string, outcome: DnsOutcome<unknown>): void {
    const lifetime = lifetimeMs(outcome);
    const storedAt = clock.monotonic();
    if (lifetime > 0) entries.set(key, { outcome, storedAt, expiresAt: storedAt + lifetime });
  }

  async function fly<T>(key: string, ask: () => Promise<DnsOutcome<T>>): Promise<DnsOutcome<T>> {
    try {
      const outcome = await ask();
      store(key, outcome);
      onLookUp(resultOf(outcome));
      return outcome;
    } finally {
      flights.delete(key);
    }
  }

  /** `type` belongs to the key, so that an entry under it has the records of `T`. */
  function lookUp<T>(type: string, name: string, ask: () => Promise<DnsOutcome<T>>): Promise<DnsOutcome<T>> {
    const key = `${type} ${name}`;
    const entry = entries.get(key);
    const now = clock.monotonic();
    if (entry && entry.expiresAt > now) {
      onLookUp("hit");
      return Promise.resolve(aged(entry.outcome as DnsOutcome<T>, now - entry.storedAt));
    }
    const flight = flights.get(key) as Promise<DnsOutcome<T>> | undefined;
    if (flight !== undefined) {
      onLookUp("hit");
      return flight;
    }
    const begun = fly(key, ask);
    flights.set(key, begun);
    return begun;
  }

  /** What was asked aside was asked less hard: its failures say nothing to who asks in earnest. */
  const keyed = (type: string, aside: Aside | undefined) => (aside === undefined ? type : `aside ${type}`);

  return {
    mx: (domain) => lookUp("mx", domain.toLowerCase(), () => inner.mx(domain)),
    a: (name, aside) => lookUp(keyed("a", aside), name.toLowerCase(), () => inner.a(name, aside)),
    aaaa: (name) => lookUp("aaaa", name.toLowerCase(), () => inner.aaaa(name)),
    txt: (name, aside) => lookUp(keyed("txt", aside), name.toLowerCase(), () => inner.txt(name, aside)),
    close: () => inner.close(),
  };
}
