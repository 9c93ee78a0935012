import { systemClock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { EntryReader } from "./evidence-shapes.ts";
import type { RedisClient } from "./redis.ts";

/** An entry of the evidence cache as it lies in Redis. */
export interface StoredText {
  key: string;
  text: string;
}

export interface StoredEntry extends StoredText {
  /** undefined: of another version or damaged; `orphan`: what it shares with others is not in Redis now. */
  entry: CacheEntry | "orphan" | undefined;
}

/**
 * All entries of probed checks, in batches that Redis serves within a few milliseconds each; what comes or goes meanwhile
 * may be in none, what Redis moves about in two. Rejects when Redis does not answer.
 */
export async function* scanEvidence(redis: RedisClient): AsyncGenerator<StoredEntry[]> {
  const reader = new EntryReader(redis, systemClock, { writes: false });
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
return 1
`;

/**
 * Writes `text` where `known` still is, with the lifetime that it has left, at most `mostS`.
 * @returns false: something else is there
 */
export async function replaceEvidence(
  redis: RedisClient,
  { key, text: known }: StoredText,
  text: string,
  mostS: number,
): Promise<boolean> {
  return (await redis.eval(REPLACE, 1, key, known, text, mostS * 1_000)) === 1;
}
