import { randomUUID } from "node:crypto";
import type { RedisClient } from "./redis.ts";

/**
 * Which jobs' results are being put together while their chunks are under way, so that one process does it, once, and an
 * assembly elsewhere knows that it need not. `rcpt:{bulk}:join:<job>` is the token of whoever does, with a TTL that it renews,
 * or GIVEN_UP. Without it results may be put together twice, of which one completes the job.
 *
 * `rcpt:{bulk}:join-begun:<job>` counts those who claimed it and never let go: a join that kills its process must not take one
 * process after another with it.
 */
export interface JoinClaims {
  /**
   * True: the job is the caller's until `ttlMs` after this, or its last renewal. False: somebody has it, or it was given up,
   * or as many as may have claimed it and did not let go. Rejects when Redis is away.
   */
  claim(jobId: string, ttlMs: number, begins: BeginBounds): Promise<boolean>;
  /** False: it is the caller's no longer. */
  renew(jobId: string, ttlMs: number): Promise<boolean>;
  /** Anybody may claim it. Nothing where it is the caller's no longer. */
  release(jobId: string): Promise<void>;
  /** Nobody may for `ttlMs`, since it would come to nothing again. */
  giveUp(jobId: string, ttlMs: number): Promise<void>;
  /** Somebody has it in hand. */
  isClaimed(jobId: string): Promise<boolean>;
}

/** How many may claim a job and not let go, and for how long that is remembered after the last. */
export interface BeginBounds {
  begins: number;
  givenUpMs: number;
}

const GIVEN_UP = "given up";

/** KEYS: the claim, how many began. ARGV: token, TTL, how many may have begun, TTL of that. */
const CLAIM = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return 1`;

/** KEYS: the claim. ARGV: token, TTL in milliseconds. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: the claim, how many began. ARGV: token. */
const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 1 then redis.call('DECR', KEYS[2]) else redis.call('DEL', KEYS[2]) end`;

/** KEYS: the claim. ARGV: token, TTL, what is to stand there instead. */
const GIVE_UP = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2]) end`;

export function createJoinClaims(redis: RedisClient): JoinClaims {
  const token = randomUUID();
  const keyOf = (jobId: string) => `rcpt:{bulk}:join:${jobId}`;
  const begunKeyOf = (jobId: string) => `rcpt:{bulk}:join-begun:${jobId}`;
  return {
    async claim(jobId, ttlMs, { begins, givenUpMs }) {
      const keys = [keyOf(jobId), begunKeyOf(jobId)];
      return (await redis.eval(CLAIM, 2, ...keys, token, ttlMs, begins, givenUpMs)) === 1;
    },
    renew: async (jobId, ttlMs) => (await redis.eval(RENEW, 1, keyOf(jobId), token, ttlMs)) === 1,
    async release(jobId) {
      await redis.eval(RELEASE, 2, keyOf(jobId), begunKeyOf(jobId), token);
    },
    async giveUp(jobId, ttlMs) {
      await redis.eval(GIVE_UP, 1, keyOf(jobId), token, ttlMs, GIVEN_UP);
    },
    async isClaimed(jobId) {
      const found = await redis.get(keyOf(jobId));
      return found !== null && found !== GIVEN_UP;
    },
  };
}
