import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { CatchAllAnswer, CatchAllStore } from "../check/catch-all.ts";
import type { Evidence, Scope } from "../check/evidence.ts";
import type { Clock } from "../core/clock.ts";
import type { RedisClient } from "./redis.ts";

/**
 * What was learnt about addresses, in process and, behind that, in Redis for all processes. Evidence, never
 * verdicts. Entries of the two scopes never meet: what a probe taught is not to be seen from a tier that does not
 * probe, not even as `cached: true`.
 *
 * Redis keys (all with a TTL, so that `volatile-lru` may drop them): `rcpt:ev:{p|u}:<hash>` the entry as JSON;
 * `rcpt:ca:<hash>` a domain's catch-all answer. The hash is SHA-256 of the address or key, cut to 128 bits, so that
 * Redis holds no address in clear.
 */
export interface CacheEntry {
  evidence: Evidence;
  /** Epoch milliseconds. */
  storedAt: number;
  /** The lifetime given when it was stored. */
  ttlS: number;
}

export interface EvidenceCache {
  /** From this process's memory: no I/O. */
  peek(scope: Scope, cacheKey: string): CacheEntry | undefined;
  /** From Redis, kept in memory when found. Never rejects: without Redis it is a miss. */
  fetch(scope: Scope, cacheKey: string): Promise<CacheEntry | undefined>;
  /** Kept here at once and in Redis soon. A TTL of 0 is not kept. */
  store(scope: Scope, cacheKey: string, entry: CacheEntry): void;
}

const SCOPE_LETTER: Record<Scope, string> = { probed: "p", unprobed: "u" };

export function createEvidenceCache(deps: {
  redis: RedisClient;
  clock: Clock;
  maxEntries: number;
}): EvidenceCache {
  const { redis, clock } = deps;
  const memory = new LRUCache<string, CacheEntry>({ max: Math.max(1, deps.maxEntries) });

  function live(entry: CacheEntry | undefined): entry is CacheEntry {
    return entry !== undefined && entry.storedAt + entry.ttlS * 1000 > clock.now();
  }

  return {
    peek(scope, cacheKey) {
      const entry = memory.get(SCOPE_LETTER[scope] + cacheKey);
      return live(entry) ? entry : undefined;
    },
    async fetch(scope, cacheKey) {
      try {
        const text = await redis.get(redisKey(scope, cacheKey));
        const entry = text === null ? undefined : (JSON.parse(text) as CacheEntry);
        if (entry?.evidence.v !== 1 || !live(entry)) return undefined;
        memory.set(SCOPE_LETTER[scope] + cacheKey, entry);
        return entry;
      } catch {
        return undefined;
      }
    },
    store(scope, cacheKey, entry) {
      if (entry.ttlS <= 0) return;
      memory.set(SCOPE_LETTER[scope] + cacheKey, entry);
      redis.set(redisKey(scope, cacheKey), JSON.stringify(entry), "EX", entry.ttlS).catch(ignore);
    },
  };
}

/** Catch-all answers beyond this process. */
export function createCatchAllStore(redis: RedisClient): CatchAllStore {
  const answers: Record<string, CatchAllAnswer> = { a: "accepted", r: "refused", i: "inconclusive" };
  return {
    async get(key) {
      const letter = await redis.get(`rcpt:ca:${hash(key)}`).catch(() => null);
      return letter === null ? null : (answers[letter] ?? null);
    },
    put(key, answer, ttlS) {
      redis.set(`rcpt:ca:${hash(key)}`, answer.charAt(0), "EX", ttlS).catch(ignore);
    },
  };
}

function redisKey(scope: Scope, cacheKey: string): string {
  return `rcpt:ev:${SCOPE_LETTER[scope]}:${hash(cacheKey)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest().subarray(0, 16).toString("base64url");
}

/** A cache that could not be written is a cache that misses; the connection's own errors are logged by its owner. */
function ignore(): void {}
