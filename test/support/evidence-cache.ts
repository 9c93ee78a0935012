import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type CacheWrite, createEvidenceCache } from "../../src/features/verify/cache/evidence-cache.ts";
import { type Clock, systemClock } from "../../src/platform/time/clock.ts";
import type { RedisClient } from "../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../src/verification/evidence/model.ts";
import { evidenceWith } from "./evidence.ts";
import { silentLog } from "./store.ts";

export const EVIDENCE = evidenceWith();

export const cacheOf = (redis: RedisClient, clock: Clock = systemClock) =>
  createEvidenceCache({
    codec: EVIDENCE_CODEC,
    redis,
    clock,
    log: silentLog,
    maxEntries: 10_000,
  });

/** A write of the address's evidence with a TTL of 60 s; `over` changes fields of it. */
export function deposit(cacheKey: string, over: Partial<CacheWrite> = {}): CacheWrite {
  const entry = { evidence: EVIDENCE, storedAt: Date.now(), ttlS: 60 };
  return { scope: "probed", cacheKey, entry, shared: true, ...over };
}

export const questions = (keys: readonly string[]) =>
  keys.map((cacheKey) => ({ scope: "probed" as const, cacheKey }));

/** Records the number of keys of each MGET, and of entries of each call of a script. */
export function countCalls(t: TestContext, redis: RedisClient) {
  const calls = { mget: [] as number[], writes: [] as number[] };
  const { mget } = redis;
  t.mock.method(redis, "mget", (keys: string[]) => {
    calls.mget.push(keys.length);
    return mget.call(redis, keys);
  });
  const { defineCommand } = redis;
  t.mock.method(redis, "defineCommand", (...definition: Parameters<typeof defineCommand>) => {
    defineCommand.apply(redis, definition);
    const scripted = redis as RedisClient &
      Record<string, (keys: number, ...entries: string[]) => Promise<unknown>>;
    const run = scripted[definition[0]];
    assert.ok(run !== undefined);
    t.mock.method(scripted, definition[0], (keys: number, ...entries: string[]) => {
      calls.writes.push(entries.join("").split("rcpt:ev:").length - 1);
      return run.call(redis, keys, ...entries);
    });
  });
  return calls;
}
