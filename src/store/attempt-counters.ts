import type { RedisClient } from "./redis.ts";

/** A counter of attempts: it begins with the first one and is gone `windowMs` later. */
export interface AttemptCount {
  key: string;
  /** Attempts it takes. */
  limit: number;
  windowMs: number;
}

/** What becomes of the counters once an attempt has turned out well. */
export interface AttemptOutcome {
  /** Counters that begin anew. */
  clear: readonly string[];
  /** Set for `markMs`. */
  mark: string;
  markMs: number;
}

/** Counters of attempts, and marks that last. Rejects when it cannot answer. */
export interface AttemptCounters {
  /** Counts one attempt in each, or, when one of them is full, in none: milliseconds until that one ends. 0: counted. */
  count(counts: readonly AttemptCount[]): Promise<number>;
  settle(outcome: AttemptOutcome): Promise<void>;
  isMarked(mark: string): Promise<boolean>;
}

/** ARGV: limit and window of each key. */
const COUNT = `
local fullMs = 0
for i, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or '0') >= tonumber(ARGV[2 * i - 1]) then
    fullMs = math.max(fullMs, redis.call('PTTL', key), 1)
  end
end
if fullMs > 0 then return fullMs end
for i, key in ipairs(KEYS) do
  if redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, ARGV[2 * i]) end
end
return 0
`;

type Commands = RedisClient & {
  rcptCountAttempts(keys: number, ...args: (string | number)[]): Promise<number>;
};

const named = (key: string) => `rcpt:attempts:${key}`;

/** The counters that all processes share. */
export function createAttemptCounters(redis: RedisClient): AttemptCounters {
  redis.defineCommand("rcptCountAttempts", { lua: COUNT });
  const commands = redis as Commands;
  return {
    count: (counts) =>
      commands.rcptCountAttempts(
        counts.length,
        ...counts.map(({ key }) => named(key)),
        ...counts.flatMap(({ limit, windowMs }) => [limit, windowMs]),
      ),

    async settle({ clear, mark, markMs }) {
      await redis.set(named(mark), "1", "PX", markMs);
      await redis.del(...clear.map(named));
    },

    isMarked: async (mark) => (await redis.exists(named(mark))) === 1,
  };
}
