import { LIMITS } from "../../config/limits/limits.ts";
import { batchPerTick } from "../../platform/time/ticks.ts";
import type { RedisClient } from "../../stores/redis.ts";

/** A bucket's answer. */
export interface BucketGrant {
  /** 0: the bucket is empty. */
  granted: number;
  /** Whole tokens left in the bucket. */
  left: number;
  /** Milliseconds until the next token; 0 when it holds one. */
  nextMs: number;
}

export interface BucketRequest {
  ratePerS: number;
  burst: number;
  /** Tokens wanted. */
  want: number;
  /** Tokens of `want` that are used at once; the others are a lease. */
  waiting: number;
  /** Unused leased tokens that come back. */
  back: number;
  /** Leased tokens used since this process last reported. */
  used: number;
}

export interface RateBuckets {
  /**
   * Requests of one tick share one call of Redis. Those without a waiting request are gathered for LIMITS.rate.gatherMs.
   * @param key names the bucket, e.g. `team_…:live`. Rejects as a command does, see `isRedisOutage`.
   */
  take(key: string, request: BucketRequest): Promise<BucketGrant>;
  /**
   * A request now waits for an answer that may be among the gathered ones: those go with this tick's call.
   * @param key absent: any of them
   */
  hurry(key?: string): void;
}

/**
 * A token bucket by Redis's own clock. Fields: `t` tokens, and `a` the time in ms at which they were counted; `o` and `p`
 * unreported tokens leased in the current and the previous window; `u` time in ms when the current window ends.
 *
 * Leased tokens still take room in the bucket: it refills to `burst` less those. Otherwise a lease held back while the
 * bucket fills up would let burst + lease pass at once. A window is as long as a lease lives, so that the tokens of a dead
 * process are forgotten after two.
 */
const TAKE = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local ttl = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
local arg = i * 6 - 4
local rate, burst = tonumber(ARGV[arg]) / 1000, tonumber(ARGV[arg + 1])
local want, waiting = tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 3])
local back, used = tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5])
local state = redis.call('HMGET', key, 't', 'a', 'o', 'p', 'u')
local tokens, at = tonumber(state[1]) or burst, tonumber(state[2]) or now
local out, before, ends = tonumber(state[3]) or 0, tonumber(state[4]) or 0, tonumber(state[5]) or 0
if now >= ends then
  if now >= ends + ttl then before = 0 else before = out end
  out, ends = 0, now + ttl
end
back = math.min(back, before + out)
local settled = math.min(back + used, before + out)
local older = math.min(settled, before)
before = before - older
out = out - (settled - older)
tokens = math.min(tokens + math.max(0, now - at) * rate + back, math.max(0, burst - out - before))
local granted = math.max(0, math.min(want, math.floor(tokens)))
tokens = tokens - granted
out = out + math.max(0, granted - waiting)
local nextMs = 0
if tokens < 1 then nextMs = math.ceil((1 - tokens) / rate) end
redis.call('HSET', key, 't', string.format('%.6f', tokens), 'a', string.format('%.3f', now), 'o', out,
  'p', before, 'u', string.format('%.3f', ends))
redis.call('PEXPIRE', key, math.ceil(burst / rate) + 2 * ttl)
answers[3 * i - 2], answers[3 * i - 1], answers[3 * i] = granted, math.floor(tokens), nextMs
end
return answers
`;

interface PendingTake {
  key: string;
  request: BucketRequest;
  resolve(grant: BucketGrant): void;
  reject(error: unknown): void;
}

type TakingRedis = RedisClient & {
  rcptTakeTokens(keys: number, ...args: (string | number)[]): Promise<number[]>;
};

/** Adds the script as a command: sent by its hash, and whole when Redis has lost it. */
export function createRateBuckets(client: RedisClient): RateBuckets {
  client.defineCommand("rcptTakeTokens", { lua: TAKE });
  const redis = client as TakingRedis;

  async function takeTokens(asked: readonly PendingTake[]): Promise<void> {
    const keys = asked.map(({ key }) => `rcpt:rate:${key}`);
    const args = asked.flatMap(({ request: { ratePerS, burst, want, waiting, back, used } }) => [
      ratePerS,
      burst,
      want,
      waiting,
      back,
      used,
    ]);
    try {
      const answers = await redis.rcptTakeTokens(keys.length, ...keys, LIMITS.rate.leaseTtlMs, ...args);
      if (answers.length !== 3 * asked.length)
        throw new Error(`${answers.length} numbers answer for ${asked.length} rate buckets`);
      for (const [i, { resolve }] of asked.entries()) {
        const [granted = 0, left = 0, nextMs = 0] = answers.slice(3 * i, 3 * i + 3);
        resolve({ granted, left, nextMs });
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  const { bucketsPerCall, gatherMs } = LIMITS.rate;
  const askAtOnce = batchPerTick<PendingTake>(bucketsPerCall, (asked) => void takeTokens(asked));
  /** Keys of the gathered requests, so that one can be hurried. */
  const gatheredKeys = new Set<string>();
  const askAll = (asked: readonly PendingTake[]) => {
    gatheredKeys.clear();
    for (const one of asked) askAtOnce.add(one);
  };
  // At full speed there are ten of them in this time, and each call costs 30 µs of this process.
  const askSoon = batchPerTick(bucketsPerCall, askAll, (send) => void setTimeout(send, gatherMs));

  function ask(pending: PendingTake): void {
    if (pending.request.waiting > 0) {
      askAtOnce.add(pending);
      return;
    }
    gatheredKeys.add(pending.key);
    askSoon.add(pending);
  }

  return {
    take: (key, request) =>
      new Promise((resolve, reject) => {
        ask({ key, request, resolve, reject });
      }),
    hurry(key) {
      if (key === undefined || gatheredKeys.has(key)) askSoon.flush();
    },
  };
}
