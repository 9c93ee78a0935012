import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { batchPerTick } from "../../../platform/time/ticks.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { EvidenceCodec } from "../../../verification/evidence/model.ts";
import type { Scope } from "../../../verification/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";
import {
  type BatchCacheLookup,
  type EntryWaiter,
  EvidenceLookup,
  memoryKey,
  redisKeyOf,
  type ScopedCacheKey,
} from "./evidence-lookup.ts";
import { EvidenceMemory } from "./evidence-memory.ts";
import { EntryReader } from "./evidence-reader.ts";
import { EntryWriter, KEEP, type KeyedEntry } from "./evidence-writer.ts";

/** An entry to be kept, see `EvidenceCache.store`. */
export interface CacheWrite extends ScopedCacheKey {
  entry: CacheEntry;
  shared: boolean;
  redisKey?: string | undefined;
}

/**
 * Evidence about addresses, in memory and, behind that, in Redis for all processes. Evidence, never verdicts.
 *
 * Entries of the two scopes are separate: results of a probe must not show on a tier that does not probe, not even as
 * `cached: true`.
 *
 * Redis keys (all with a TTL, so that `volatile-lru` may drop them): `rcpt:ev:{p|u}:<hash>` the entry; `rcpt:es:<hash>` the
 * facts and findings that entries share (`evidence-record`); `rcpt:ca:<hash>` a domain's catch-all answer. The hash is
 * SHA-256 of the address, the text or the key, cut to 128 bits, so that Redis holds no address in clear text.
 */
export interface EvidenceCache {
  /** From this process's memory: no I/O. What is asked for again is the same object, for as long as it is there. */
  peek(scope: Scope, cacheKey: string): CacheEntry | undefined;
  /**
   * The newest of Redis and memory. Those of one turn of the event loop ask Redis together. Never rejects: without Redis it
   * is what memory has.
   */
  fetch(scope: Scope, cacheKey: string): Promise<CacheEntry | undefined>;
  /** `fetch` with a callback of the waiter's instead of a promise. */
  look(asker: EntryWaiter): void;
  /**
   * Stores the entry in memory at once and, unless it is about ourselves, in Redis soon, together with the others of this
   * tick. An entry with a TTL of 0 is not stored.
   * @param shared false: true of this process's egress alone, so other processes must not use it
   * @param redisKey as `look` gave it, so that the address need not be hashed again
   */
  store(scope: Scope, cacheKey: string, entry: CacheEntry, shared: boolean, redisKey?: string): void;
  /**
   * Like `fetch` for many, in order: one round trip for each LIMITS.evidenceCache.keysPerCall of them, one after the other,
   * and another one for facts and findings that this process does not know. Never rejects.
   */
  fetchMany(questions: readonly BatchCacheLookup[]): Promise<(CacheEntry | undefined)[]>;
  /** `store` of many, in one write for each LIMITS.evidenceCache.entriesPerWrite of them. Never rejects. */
  storeMany(deposits: readonly CacheWrite[]): void;
}

type EvidenceRedis = RedisClient & {
  rcptKeepEvidence(keys: 0, ...entries: string[]): Promise<unknown>;
};

function defineKeepScript(redis: RedisClient): EvidenceRedis {
  redis.defineCommand("rcptKeepEvidence", { lua: KEEP });
  return redis as EvidenceRedis;
}

export interface EvidenceCacheDeps {
  redis: RedisClient;
  clock: Clock;
  log: Logger;
  /** How evidence is read: `EVIDENCE_CODEC`. */
  codec: EvidenceCodec;
  maxEntries: number;
}

export function createEvidenceCache(deps: EvidenceCacheDeps): EvidenceCache {
  const { clock, log } = deps;
  const redis = defineKeepScript(deps.redis);
  const reader = new EntryReader({ redis, clock, codec: deps.codec, writes: true });
  const writer = new EntryWriter();
  const memory = new EvidenceMemory(deps.maxEntries, clock);
  const lookup = new EvidenceLookup({ redis, clock, log, reader, memory });

  /** Those that are for others too, at most LIMITS.evidenceCache.entriesPerWrite. */
  function write(deposits: readonly CacheWrite[]): void {
    const keyed = deposits.map(
      ({ scope, cacheKey, entry, redisKey }): KeyedEntry => ({
        redisKey: redisKey ?? redisKeyOf(scope, cacheKey),
        entry,
      }),
    );
    redis.rcptKeepEvidence(0, ...writer.argumentsOf(keyed, clock.monotonic())).catch(() => writer.forget());
  }

  /** @returns whether it is to be written */
  function keepInMemory({ scope, cacheKey, entry, shared }: CacheWrite): boolean {
    if (entry.ttlS <= 0) return false;
    memory.keep(memoryKey(scope, cacheKey), entry);
    // Redis counts whole seconds, and accepts no time to live of 0.
    return shared && entry.ttlS >= 1;
  }

  const writeSoon = batchPerTick<CacheWrite>(LIMITS.evidenceCache.entriesPerWrite, write);
  const lookSoon = batchPerTick<EntryWaiter>(
    LIMITS.evidenceCache.keysPerCall,
    (askers) => void lookup.answerAll(askers),
  );

  return {
    peek: (scope, cacheKey) => memory.peek(memoryKey(scope, cacheKey)),
    fetch: (scope, cacheKey) => new Promise((found) => lookSoon.add({ scope, cacheKey, found })),
    look: (asker) => lookSoon.add(asker),
    async fetchMany(questions) {
      const entries: (CacheEntry | undefined)[] = [];
      for (const page of pagesOf(questions, LIMITS.evidenceCache.keysPerCall))
        entries.push(...(await lookup.findAll(page)));
      return entries;
    },
    store(scope, cacheKey, entry, shared, redisKey) {
      const deposit = { scope, cacheKey, entry, shared, redisKey };
      if (keepInMemory(deposit)) writeSoon.add(deposit);
    },
    storeMany(deposits) {
      for (const page of pagesOf(deposits.filter(keepInMemory), LIMITS.evidenceCache.entriesPerWrite))
        write(page);
    },
  };
}

function* pagesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
