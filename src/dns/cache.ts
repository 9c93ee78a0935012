import { LRUCache } from "lru-cache";
import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { BestEffortLookUp, DnsOutcome, TextResolver } from "./resolver.ts";

/** The result of a look-up. `hit`: no query was needed; `absent`: the name, or such a record, does not exist. */
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

/** The outcome after `ageMs`: with its remaining TTL. */
function withRemainingTtl<T>(outcome: DnsOutcome<T>, ageMs: number): DnsOutcome<T> {
  if (!("ttlS" in outcome) || ageMs < 1_000) return outcome;
  return { ...outcome, ttlS: Math.max(0, outcome.ttlS - Math.floor(ageMs / 1_000)) };
}

function resultOf({ status }: DnsOutcome<unknown>): LookUpResult {
  if (status === "ok") return "answered";
  return status === "no_data" || status === "nxdomain" ? "absent" : "failed";
}

/** Characters of text that count as one record: untrusted texts may be long. */
const CHARS_PER_RECORD = 100;

function sizeOf({ outcome }: Entry): number {
  if (outcome.status !== "ok") return 1;
  const chars = outcome.records.reduce<number>(
    (sum, record) => sum + (typeof record === "string" ? record.length : 0),
    0,
  );
  return 1 + outcome.records.length + Math.floor(chars / CHARS_PER_RECORD);
}

/**
 * A cache in front of `inner`, negative answers included: an answer lives for its TTL, at least `LIMITS.dns.ttlMinS`, a
 * failure for `failureTtlMs`. Concurrent look-ups of one name and type share one query. `ttlS` counts down. Closing it
 * closes `inner`.
 * @param onLookUp called for every look-up, for a queried one once it is answered
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
  const inFlight = new Map<string, Promise<DnsOutcome<unknown>>>();

  function store(key: string, outcome: DnsOutcome<unknown>): void {
    const lifetime = lifetimeMs(outcome);
    const storedAt = clock.monotonic();
    if (lifetime > 0) entries.set(key, { outcome, storedAt, expiresAt: storedAt + lifetime });
  }

  async function askAndStore<T>(key: string, ask: () => Promise<DnsOutcome<T>>): Promise<DnsOutcome<T>> {
    try {
      const outcome = await ask();
      store(key, outcome);
      onLookUp(resultOf(outcome));
      return outcome;
    } finally {
      inFlight.delete(key);
    }
  }

  /** `type` is part of the key, so that an entry has records of `T`. */
  function lookUp<T>(type: string, name: string, ask: () => Promise<DnsOutcome<T>>): Promise<DnsOutcome<T>> {
    const key = `${type} ${name}`;
    const entry = entries.get(key);
    const now = clock.monotonic();
    if (entry && entry.expiresAt > now) {
      onLookUp("hit");
      return Promise.resolve(withRemainingTtl(entry.outcome as DnsOutcome<T>, now - entry.storedAt));
    }
    const pending = inFlight.get(key) as Promise<DnsOutcome<T>> | undefined;
    if (pending !== undefined) {
      onLookUp("hit");
      return pending;
    }
    const started = askAndStore(key, ask);
    inFlight.set(key, started);
    return started;
  }

  /** A best-effort query tries less: its failures must not answer normal look-ups. */
  const keyTypeOf = (type: string, bestEffort: BestEffortLookUp | undefined) =>
    bestEffort === undefined ? type : `aside ${type}`;

  return {
    mx: (domain) => lookUp("mx", domain.toLowerCase(), () => inner.mx(domain)),
    a: (name, bestEffort) =>
      lookUp(keyTypeOf("a", bestEffort), name.toLowerCase(), () => inner.a(name, bestEffort)),
    aaaa: (name) => lookUp("aaaa", name.toLowerCase(), () => inner.aaaa(name)),
    txt: (name, bestEffort) =>
      lookUp(keyTypeOf("txt", bestEffort), name.toLowerCase(), () => inner.txt(name, bestEffort)),
    close: () => inner.close(),
  };
}
