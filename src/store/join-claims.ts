import { randomUUID } from "node:crypto";
import type { RedisClient } from "./redis.ts";

/**
 * Which jobs' results are being put together while their chunks are under way, so that one process does it, once, and an
 * assembly elsewhere knows that it need not. `rcpt:{bulk}:join:<job>` is the token of whoever does, with a TTL that it renews,
 * or GIVEN_UP. Without it results may be put together twice, of which one completes the job.
 */
export interface JoinClaims {
  /** True: the job is the caller's until `ttlMs` after this, or its last renewal. Rejects when Redis is away. */
  claim(jobId: string, ttlMs: number): Promise<boolean>;
  /** False: it is the caller's no longer. */
  renew(jobId: string, ttlMs: number): Promise<boolean>;
  /** Anybody may claim it. Nothing where it is the caller's no longer. */
  release(jobId: string): Promise<void>;
  /** Nobody may for `ttlMs`, since it would come to nothing again. */
  giveUp(jobId: string, ttlMs: number): Promise<void>;
  /** Somebody has it in hand. */
  isClaimed(jobId: string): Promise<boolean>;
}

const GIVEN_UP = "given up";

/** KEYS: the claim. ARGV: token, TTL in milliseconds. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: the claim. ARGV: token. */
const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** KEYS: the claim. ARGV: token, TTL, what is to stand there instead. */
const GIVE_UP = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2]) end`;

export function createJoinClaims(redis: RedisClient): JoinClaims {
  const token = randomUUID();
  const keyOf = (jobId: string) => `rcpt:{bulk}:join:${jobId}`;
  return {
    claim: async (jobId, ttlMs) => (await redis.set(keyOf(jobId), token, "PX", ttlMs, "NX")) === "OK",
    renew: async (jobId, ttlMs) => (await redis.eval(RENEW, 1, keyOf(jobId), token, ttlMs)) === 1,
    async release(jobId) {
      await redis.eval(RELEASE, 1, keyOf(jobId), token);
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
