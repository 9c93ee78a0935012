import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { EvidenceCodec } from "../../../verification/evidence/model.ts";
import type { CacheEntry } from "./cache-entry.ts";
import type { EvidenceCache } from "./evidence-cache.ts";
import { redisKeyOf } from "./evidence-lookup.ts";
import { EntryReader } from "./evidence-reader.ts";
import { replaceEvidence } from "./evidence-scan.ts";

/**
 * Withdraws cached evidence of a probed check, so that the next request checks the address again. In this process at once,
 * in others within LIMITS.evidenceCache.memoryMs. Rejects without Redis.
 * @param isOver true for an entry that is to be withdrawn
 * @returns true: it existed, and was withdrawn
 */
export type WithdrawEvidence = (cacheKey: string, isOver: (entry: CacheEntry) => boolean) => Promise<boolean>;

export function createWithdrawEvidence(deps: {
  redis: RedisClient;
  cache: Pick<EvidenceCache, "fetch">;
  codec: EvidenceCodec;
  clock: Clock;
}): WithdrawEvidence {
  const { redis, cache, codec, clock } = deps;
  const reader = new EntryReader({ redis, clock, codec, writes: false });
  return async (cacheKey, isOver) => {
    const key = redisKeyOf("probed", cacheKey);
    const text = await redis.get(key);
    if (text === null) return false;
    await reader.learn([text]);
    const entry = reader.decode(text);
    if (entry === undefined || entry.ttlS === 0 || !isOver(entry)) return false;
    // An expired entry of the same time ends the entries in memories (`EvidenceLookup`). It stays for as long as memories
    // trust theirs.
    const keptS = Math.ceil(LIMITS.evidenceCache.memoryMs / 1_000);
    const replaced = await replaceEvidence(redis, { key, text }, { ...entry, ttlS: 0 }, keptS);
    if (replaced) await cache.fetch("probed", cacheKey);
    return replaced;
  };
}
