import { LIMITS } from "../../../config/limits/limits.ts";
import { systemClock } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { EvidenceCodec } from "../../../verification/evidence/model.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { EntryReader } from "./evidence-reader.ts";
import { partKeyOf, recordText } from "./evidence-record.ts";

/** An entry of the evidence cache as it lies in Redis. */
export interface StoredText {
  key: string;
  text: string;
}

export interface StoredEntry extends StoredText {
  /** undefined: of another version or damaged; `orphan`: its facts or finding are not in Redis now. */
  entry: CacheEntry | "orphan" | undefined;
}

/**
 * All entries of probed checks, in batches that Redis serves within a few milliseconds each. Entries added or removed
 * during the scan may be missing; entries that Redis moves may come twice. Rejects when Redis does not answer.
 */
export async function* scanEvidence(redis: RedisClient, codec: EvidenceCodec): AsyncGenerator<StoredEntry[]> {
  const reader = new EntryReader({ redis, clock: systemClock, codec, writes: false });
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(
      cursor,
      "MATCH",
      "rcpt:ev:p:*",
      "COUNT",
      LIMITS.reclassify.keysPerScan,
    );
    cursor = next;
    const texts = keys.length === 0 ? [] : await redis.mget(keys);
    await reader.learn(texts);
    yield keys.flatMap((key, i) => {
      const text = texts[i] ?? null;
      return text === null ? [] : [{ key, text, entry: reader.lacks(text) ? "orphan" : reader.decode(text) }];
    });
  } while (cursor !== "0");
}

const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'LT')
local lifeMs = redis.call('PTTL', KEYS[1]) + ARGV[6]
for part = 2, 3 do
  if redis.call('PTTL', KEYS[part]) < lifeMs then redis.call('SET', KEYS[part], ARGV[2 + part], 'PX', lifeMs) end
end
return 1
`;

/**
 * Writes `entry` where `known` still is, with the lifetime that it has left, at most `mostS`; its facts and finding outlive it.
 * @returns false: something else is there
 */
export async function replaceEvidence(
  redis: RedisClient,
  { key, text: known }: StoredText,
  entry: CacheEntry,
  mostS: number,
): Promise<boolean> {
  const text = recordText(entry);
  if (text === null) return false;
  const { facts, finding } = entry.evidence;
  const keys = [key, partKeyOf(facts.id), partKeyOf(finding.id)] as const;
  const texts = [known, text, mostS * 1_000, facts.text, finding.text] as const;
  const spareMs = LIMITS.evidenceCache.partRefreshS * 1_000;
  return (await redis.eval(REPLACE, keys.length, ...keys, ...texts, spareMs)) === 1;
}
