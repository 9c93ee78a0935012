import { LIMITS } from "../../../config/limits/limits.ts";
import { hash128 } from "../../../platform/ids.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { batchPerTick } from "../../../platform/time/ticks.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { CatchAllFact, CatchAllStore } from "../../../verification/catch-all.ts";
import type { EvidenceCodec } from "../../../verification/evidence/model.ts";
import type { Scope } from "../../../verification/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { EvidenceMemory, type Held } from "./evidence-memory.ts";
import { EntryReader } from "./evidence-reader.ts";
import { EntryWriter, KEEP, type KeyedEntry } from "./evidence-writer.ts";

export type { Held } from "./evidence-memory.ts";

/** Whose entry is meant. */
export interface ScopedCacheKey {
  scope: Scope;
  cacheKey: string;
}

/** One of many. */
export interface BatchCacheLookup extends ScopedCacheKey {
  /** Noted by `fetchMany`, so that the address need not be hashed again when its entry is stored. */
  redisKey?: string | undefined;
}

/** Who asks for an entry. */
export interface EntryWaiter extends ScopedCacheKey {
  /** Told once, not within the call that asked. What it throws is logged, and it hears no more: it is its own to tell who waits. */
  found(entry: CacheEntry | undefined, redisKey: string): void;
}

/** An entry to be kept, see `EvidenceCache.store`. */
export interface CacheWrite extends ScopedCacheKey {
  entry: CacheEntry;
  shared: boolean;
  redisKey?: string | undefined;
}

/**
 * What was learnt about addresses, in process and, behind that, in Redis for all processes. Evidence, never
 * verdicts. Entries of the two scopes never meet: what a probe taught is not to be seen from a tier that does not
 * probe, not even as `cached: true`.
 *
 * Redis keys (all with a TTL, so that `volatile-lru` may drop them): `rcpt:ev:{p|u}:<hash>` the entry;
 * `rcpt:es:<hash>` the facts and findings that entries share (`evidence-record`); `rcpt:ca:<hash>` a domain's catch-all answer. The
 * hash is SHA-256 of the address, the text or the key, cut to 128 bits, so that Redis holds no address in clear.
 */
export interface EvidenceCache {
  /** From this process's memory: no I/O. */
  peek(scope: Scope, cacheKey: string): CacheEntry | undefined;
  /**
   * What `peek` finds, for who asks for it again and again: until `goodUntilMs`, and while `evictionEpoch` says the same, `peek` would
   * find the same, and need not be asked.
   */
  hold(scope: Scope, cacheKey: string): Held | undefined;
  /** How often something that was held has come to be over, whatever it was. */
  evictionEpoch(): number;
  /**
   * The newest of Redis and memory. Those of one turn of the event loop ask Redis together. Never rejects: without Redis it
   * is what memory has.
   */
  fetch(scope: Scope, cacheKey: string): Promise<CacheEntry | undefined>;
  /** `fetch` for who has an object of its own to be told, and needs no promise. */
  look(asker: EntryWaiter): void;
  /**
   * Kept here at once and, unless it is about ourselves, in Redis soon: with what else this turn of the event loop has. A
   * TTL of 0 is not kept.
   * @param shared false: true of this process's egress alone, so others must not believe it
   * @param redisKey as `look` told it, so that the address need not be hashed again
   */
  store(scope: Scope, cacheKey: string, entry: CacheEntry, shared: boolean, redisKey?: string): void;
  /**
   * `fetch` of many in one round trip for each LIMITS.evidenceCache.keysPerCall of them, one after the other, and another
   * one where this process does not know what they have in common; in order. Never rejects.
   */
  fetchMany(questions: readonly BatchCacheLookup[]): Promise<(CacheEntry | undefined)[]>;
  /** `store` of many, in one write for each LIMITS.evidenceCache.entriesPerWrite of them. Never rejects. */
  storeMany(deposits: readonly CacheWrite[]): void;
}

const SCOPE_LETTER: Record<Scope, string> = { probed: "p", unprobed: "u" };

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

/** Whether memory's entry is later than what Redis has, or the same. @param theirs what Redis has, if it is live */
function isNewest(ours: CacheEntry, read: CacheEntry, theirs: CacheEntry | undefined): boolean {
  if (ours.storedAt > read.storedAt) return true;
  return (
    theirs !== undefined &&
    ours.storedAt === theirs.storedAt &&
    ours.ttlS === theirs.ttlS &&
    ours.evidence.equals(theirs.evidence)
  );
}

export function createEvidenceCache(deps: EvidenceCacheDeps): EvidenceCache {
  const { clock, log } = deps;
  const redis = defineKeepScript(deps.redis);
  const reader = new EntryReader({ redis, clock, codec: deps.codec, writes: true });
  const writer = new EntryWriter();
  const memory = new EvidenceMemory(deps.maxEntries, clock);

  function isLive(entry: CacheEntry | undefined): entry is CacheEntry {
    return entry !== undefined && entry.storedAt + entry.ttlS * 1000 > clock.now();
  }

  /**
   * The newest of what memory has and what Redis said, which is remembered. What memory has ends where Redis has another of the
   * same time or later, also where that has ended: so one is withdrawn. Rendered answers refer to memory's, so it stays if equal.
   */
  function newest({ scope, cacheKey }: ScopedCacheKey, text: string | null): CacheEntry | undefined {
    const key = memoryKey(scope, cacheKey);
    const read = text === null ? undefined : reader.decode(text);
    const theirs = isLive(read) ? read : undefined;
    const ours = memory.get(key);
    if (ours === undefined && theirs === undefined) return undefined;
    const entry = isLive(ours) && (read === undefined || isNewest(ours, read, theirs)) ? ours : theirs;
    if (entry !== undefined) memory.keep(key, entry);
    else memory.drop(key);
    return entry;
  }

  /** Of one entry nobody else of its call is to suffer: what cannot be read is a miss. */
  function newestOrMiss(question: ScopedCacheKey, text: string | null): CacheEntry | undefined {
    try {
      return newest(question, text);
    } catch (error) {
      log.error({ err: error }, "an entry of the evidence cache could not be read");
      return undefined;
    }
  }

  const keysOf = (questions: readonly ScopedCacheKey[]) =>
    questions.map(({ scope, cacheKey }) => redisKeyOf(scope, cacheKey));

  /** Once they can be decoded. */
  async function fetchTexts(keys: string[]): Promise<(string | null)[]> {
    const texts: (string | null)[] = await redis.mget(keys).catch(() => []);
    const learning = reader.learn(texts);
    if (learning !== null) await learning.catch(ignore);
    return texts;
  }

  async function fetchPage(questions: readonly BatchCacheLookup[]): Promise<(CacheEntry | undefined)[]> {
    const keys = keysOf(questions);
    for (const [i, question] of questions.entries()) question.redisKey = keys[i] as string;
    const texts = await fetchTexts(keys);
    return questions.map((question, i) => newestOrMiss(question, texts[i] ?? null));
  }

  async function answerAll(askers: readonly EntryWaiter[]): Promise<void> {
    const keys = keysOf(askers);
    const texts = await fetchTexts(keys);
    for (let i = 0; i < askers.length; i++) {
      const asker = askers[i] as EntryWaiter;
      const entry = newestOrMiss(asker, texts[i] ?? null);
      try {
        asker.found(entry, keys[i] as string);
      } catch (error) {
        // Nobody awaits this call: thrown on, it would end the process, and those behind it would never be told.
        log.error({ err: error }, "who asked the evidence cache broke");
      }
    }
  }

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
    // Redis counts whole seconds, and takes no lifetime of none.
    return shared && entry.ttlS >= 1;
  }

  const writeSoon = batchPerTick<CacheWrite>(LIMITS.evidenceCache.entriesPerWrite, write);
  const lookSoon = batchPerTick<EntryWaiter>(
    LIMITS.evidenceCache.keysPerCall,
    (askers) => void answerAll(askers),
  );

  return {
    peek: (scope, cacheKey) => memory.peek(memoryKey(scope, cacheKey)),
    hold: (scope, cacheKey) => memory.hold(memoryKey(scope, cacheKey)),
    evictionEpoch: () => memory.endings,
    fetch: (scope, cacheKey) => new Promise((found) => lookSoon.add({ scope, cacheKey, found })),
    look: (asker) => lookSoon.add(asker),
    async fetchMany(questions) {
      const entries: (CacheEntry | undefined)[] = [];
      for (const page of pagesOf(questions, LIMITS.evidenceCache.keysPerCall))
        entries.push(...(await fetchPage(page)));
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

/** Catch-all answers beyond this process: a letter and the epoch second until which it holds. */
export function createCatchAllStore(redis: RedisClient, clock: Clock): CatchAllStore {
  const answers: Record<string, CatchAllFact | undefined> = { a: "accepted", r: "refused" };
  return {
    async get(key) {
      const text = await redis.get(`rcpt:ca:${hash128(key)}`).catch(() => null);
      const answer = answers[text?.charAt(0) ?? ""];
      const ttlS = Number(text?.slice(1)) - Math.ceil(clock.now() / 1000);
      return answer !== undefined && ttlS > 0 ? { answer, ttlS } : null;
    },
    put(key, answer, ttlS) {
      const until = Math.floor(clock.now() / 1000) + ttlS;
      redis.set(`rcpt:ca:${hash128(key)}`, `${answer.charAt(0)}${until}`, "EX", ttlS).catch(ignore);
    },
  };
}

/**
 * What stands before an address in memory: none begins with a space. That of the probed is the address itself: a string that
 * is put together would have to be hashed anew at each look.
 */
const MEMORY_KEY_PREFIX: Record<Scope, string> = { probed: "", unprobed: " " };

function memoryKey(scope: Scope, cacheKey: string): string {
  return scope === "probed" ? cacheKey : MEMORY_KEY_PREFIX.unprobed + cacheKey;
}

function redisKeyOf(scope: Scope, cacheKey: string): string {
  return `rcpt:ev:${SCOPE_LETTER[scope]}:${hash128(cacheKey)}`;
}

/** A cache that could not be written is a cache that misses; the connection's own errors are logged by its owner. */
function ignore(): void {}
