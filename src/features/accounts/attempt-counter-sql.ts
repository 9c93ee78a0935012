import type { RedisClient } from "../../stores/redis.ts";

/** A counter of attempts: it starts with the first attempt and ends `windowMs` later. */
export interface AttemptCount {
  key: string;
  /** Attempts allowed. */
  limit: number;
  windowMs: number;
}

/** Changes of the counters after a successful attempt. */
export interface AttemptOutcome {
  /** Counters to reset. */
  clear: readonly string[];
  /** Set for `markMs`. */
  mark: string;
  markMs: number;
}

/** Counters of attempts, and marks that last. Rejects when Redis does not answer. */
export interface AttemptCounters {
  /**
   * Counts one attempt in each counter, or in none when one is full: then returns the milliseconds until that one ends. 0:
   * counted.
   */
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

/** The counters, shared by all processes. */
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
