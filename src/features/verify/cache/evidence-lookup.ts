import { hash128 } from "../../../platform/ids.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { Scope } from "../../../verification/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";
import type { EvidenceMemory } from "./evidence-memory.ts";
import type { EntryReader } from "./evidence-reader.ts";

/** The address and the scope of an entry. */
export interface ScopedCacheKey {
  scope: Scope;
  cacheKey: string;
}

/** One of many. */
export interface BatchCacheLookup extends ScopedCacheKey {
  /** Noted by `fetchMany`, so that the address need not be hashed again when its entry is stored. */
  redisKey?: string | undefined;
}

/** A caller that waits for an entry. */
export interface EntryWaiter extends ScopedCacheKey {
  /**
   * Called once, not within the call that asked. An error of it is logged, and it is not called again: it must fail its own
   * waiters itself.
   */
  found(entry: CacheEntry | undefined, redisKey: string): void;
}

export interface EvidenceLookupDeps {
  redis: RedisClient;
  clock: Clock;
  log: Logger;
  reader: EntryReader;
  memory: EvidenceMemory;
}

/** True when memory's entry is at least as recent as the one from Redis. @param theirs the entry from Redis, if it is live */
function isNewest(ours: CacheEntry, read: CacheEntry, theirs: CacheEntry | undefined): boolean {
  if (ours.storedAt > read.storedAt) return true;
  return (
    theirs !== undefined &&
    ours.storedAt === theirs.storedAt &&
    ours.ttlS === theirs.ttlS &&
    ours.evidence.equals(theirs.evidence)
  );
}

/**
 * Looks entries up in Redis, several in one round trip, and remembers the most recent of Redis's and memory's entries.
 * Never rejects.
 */
export class EvidenceLookup {
  readonly #deps: EvidenceLookupDeps;

  constructor(deps: EvidenceLookupDeps) {
    this.#deps = deps;
  }

  /** @returns entries in order */
  async findAll(questions: readonly BatchCacheLookup[]): Promise<(CacheEntry | undefined)[]> {
    const keys = redisKeysOf(questions);
    for (const [i, question] of questions.entries()) question.redisKey = keys[i] as string;
    const texts = await this.#textsOf(keys);
    return questions.map((question, i) => this.#newestOrMiss(question, texts[i] ?? null));
  }

  async answerAll(askers: readonly EntryWaiter[]): Promise<void> {
    const keys = redisKeysOf(askers);
    const texts = await this.#textsOf(keys);
    for (let i = 0; i < askers.length; i++) {
      const asker = askers[i] as EntryWaiter;
      const entry = this.#newestOrMiss(asker, texts[i] ?? null);
      try {
        asker.found(entry, keys[i] as string);
      } catch (error) {
        // No caller awaits this: rethrown, the error would end the process, and the waiters behind this one would never be
        // called.
        this.#deps.log.error({ err: error }, "evidence cache callback threw");
      }
    }
  }

  /** Once they can be decoded. */
  async #textsOf(keys: string[]): Promise<(string | null)[]> {
    const { redis, reader } = this.#deps;
    const texts: (string | null)[] = await redis.mget(keys).catch(() => []);
    const learning = reader.learn(texts);
    // A half that is not learnt is a miss; the connection's own errors are logged by its owner.
    if (learning !== null) await learning.catch(() => {});
    return texts;
  }

  /** One unreadable entry must not fail the whole batch: it is a miss. */
  #newestOrMiss(question: ScopedCacheKey, text: string | null): CacheEntry | undefined {
    try {
      return this.#newest(question, text);
    } catch (error) {
      this.#deps.log.error({ err: error }, "an entry of the evidence cache could not be read");
      return undefined;
    }
  }

  /**
   * The more recent of memory's entry and the one from Redis; memory then has it. An entry of Redis with the same or a
   * later time ends memory's, even when it has expired: that is how evidence is withdrawn. Rendered answers refer to
   * memory's object, so an equal entry does not replace it.
   */
  #newest({ scope, cacheKey }: ScopedCacheKey, text: string | null): CacheEntry | undefined {
    const { reader, memory } = this.#deps;
    const key = memoryKey(scope, cacheKey);
    const read = text === null ? undefined : reader.decode(text);
    const theirs = this.#isLive(read) ? read : undefined;
    const ours = memory.get(key);
    if (ours === undefined && theirs === undefined) return undefined;
    const entry = this.#isLive(ours) && (read === undefined || isNewest(ours, read, theirs)) ? ours : theirs;
    if (entry !== undefined) memory.keep(key, entry);
    else memory.drop(key);
    return entry;
  }

  #isLive(entry: CacheEntry | undefined): entry is CacheEntry {
    return entry !== undefined && entry.storedAt + entry.ttlS * 1000 > this.#deps.clock.now();
  }
}

const SCOPE_LETTER: Record<Scope, string> = { probed: "p", unprobed: "u" };

/**
 * Prefix of an address's key in memory: no address begins with a space. The probed scope has no prefix: a concatenated
 * string would have to be hashed again at each look-up.
 */
const MEMORY_KEY_PREFIX: Record<Scope, string> = { probed: "", unprobed: " " };

export function memoryKey(scope: Scope, cacheKey: string): string {
  return scope === "probed" ? cacheKey : MEMORY_KEY_PREFIX.unprobed + cacheKey;
}

export function redisKeyOf(scope: Scope, cacheKey: string): string {
  return `rcpt:ev:${SCOPE_LETTER[scope]}:${hash128(cacheKey)}`;
}

function redisKeysOf(questions: readonly ScopedCacheKey[]): string[] {
  return questions.map(({ scope, cacheKey }) => redisKeyOf(scope, cacheKey));
}
