import { randomUUID } from "node:crypto";
import type { RedisClient } from "./redis.ts";

/**
 * Claims on jobs whose results are joined while their chunks are in progress, so that one process does it, once, and an
 * assembly elsewhere need not. `rcpt:{bulk}:join:<job>` is the owner's token, with a TTL that it renews, or GIVEN_UP.
 * Without it results may be joined twice, of which one completes the job.
 *
 * `rcpt:{bulk}:join-begun:<job>` counts owners that claimed the job and never released it: a join that kills its process
 * must not take down one process after another.
 */
export interface JoinClaims {
  /**
   * True: the job belongs to the caller until `ttlMs` after this, or after its last renewal. False: another owner has it,
   * it was given up, or too many owners never released it. Rejects when Redis is away.
   */
  claim(jobId: string, ttlMs: number, begins: ClaimBounds): Promise<boolean>;
  /** False: the caller lost the claim. */
  renew(jobId: string, ttlMs: number): Promise<boolean>;
  /** Lets any process claim the job. Does nothing where the caller lost the claim. */
  release(jobId: string): Promise<void>;
  /** Blocks claims for `ttlMs`, since another join would fail again. */
  giveUp(jobId: string, ttlMs: number): Promise<void>;
  /** Some process holds the claim. */
  isClaimed(jobId: string): Promise<boolean>;
}

/** How many owners may claim a job without releasing it, and how long that is remembered after the last. */
export interface ClaimBounds {
  begins: number;
  givenUpMs: number;
}

const GIVEN_UP = "given up";

/** KEYS: the claim, the count of owners. ARGV: token, TTL, maximum owners, TTL of the count. */
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

/** KEYS: the claim, the count of owners. ARGV: token. */
const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 1 then redis.call('DECR', KEYS[2]) else redis.call('DEL', KEYS[2]) end`;

/** KEYS: the claim. ARGV: token, TTL, the value that replaces it. */
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
