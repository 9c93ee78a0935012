import { LIMITS } from "../core/limits.ts";
import type { RedisClient } from "./redis.ts";

/** What a bucket answered. */
export interface BucketGrant {
  /** 0: the bucket is empty. */
  granted: number;
  /** Whole tokens left in the bucket. */
  left: number;
  /** Milliseconds until it holds the next token; 0 when it holds one. */
  nextMs: number;
}

export interface BucketRequest {
  ratePerS: number;
  burst: number;
  /** Tokens wanted. */
  want: number;
  /** Of those, used at once; the others are a lease. */
  waiting: number;
  /** Leased tokens that were not used and come back. */
  back: number;
  /** Leased tokens that were used since this process last said so. */
  used: number;
}

export interface RateBuckets {
  /** @param key names the bucket, e.g. `team_…:live`. Rejects when Redis does not answer. */
  take(key: string, request: BucketRequest): Promise<BucketGrant>;
}

/**
 * A token bucket by Redis's own clock. Fields: `t` tokens, `a` time in ms they were counted at, `o` and `p` tokens
 * leased in the present and the previous window and not accounted for, `u` time in ms when the present window ends.
 *
 * Tokens out on lease still take room in the bucket: it refills to `burst` less those. Otherwise a lease held back
 * while the bucket fills up would let burst + lease pass at once. A window is as long as a lease lives, so that what a
 * dead process held is forgotten after two.
 */
const TAKE = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local rate, burst = tonumber(ARGV[1]) / 1000, tonumber(ARGV[2])
local want, waiting, back, used = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local ttl = tonumber(ARGV[7])
local state = redis.call('HMGET', KEYS[1], 't', 'a', 'o', 'p', 'u')
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
redis.call('HSET', KEYS[1], 't', string.format('%.6f', tokens), 'a', string.format('%.3f', now), 'o', out,
  'p', before, 'u', string.format('%.3f', ends))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate) + 2 * ttl)
return {granted, math.floor(tokens), nextMs}
`;

/** Adds the script as a command: sent by its hash, and whole when Redis has forgotten it. */
export function createRateBuckets(redis: RedisClient): RateBuckets {
  redis.defineCommand("rcptTakeTokens", { numberOfKeys: 1, lua: TAKE });
  const { rcptTakeTokens } = redis as RedisClient & {
    rcptTakeTokens(key: string, ...args: number[]): Promise<[number, number, number]>;
  };
  return {
    async take(key, { ratePerS, burst, want, waiting, back, used }) {
      const [granted, left, nextMs] = await rcptTakeTokens.call(
        redis,
        `rcpt:rate:${key}`,
        ratePerS,
        burst,
        want,
        waiting,
        back,
        used,
        LIMITS.rate.leaseTtlMs,
      );
      return { granted, left, nextMs };
    },
  };
}
