import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createRateLimiter, type RateLimiter } from "../../../../src/features/rate-limit/rate-limit.ts";
import { type BucketRequest, createRateBuckets } from "../../../../src/features/rate-limit/redis-buckets.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import type { RedisClients } from "../../../../src/stores/redis.ts";
import { testRedisUrl } from "../../../support/embedded.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { actorFor, openGatedRedis, openRedis, silentLog } from "../../../support/store.ts";
import { createTcpGate, type TcpGate } from "../../../support/tcp-gate.ts";
import { until } from "../../../support/until.ts";

interface Process {
  limiter: RateLimiter;
  redis: RedisClients;
  clock: FakeClock;
  gate: TcpGate;
  /** Requests sent to Redis. */
  asked: BucketRequest[];
}

async function startProcess(t: TestContext, redisUrl: string): Promise<Process> {
  const gate = await createTcpGate(redisUrl);
  t.after(() => gate.close());
  const redis = await openGatedRedis(t, redisUrl, gate);
  const clock = createFakeClock();
  const asked: BucketRequest[] = [];
  const buckets = createRateBuckets(redis.commands);
  const limiter = createRateLimiter({
    buckets: {
      take(key, request) {
        asked.push(request);
        return buckets.take(key, request);
      },
      hurry: buckets.hurry,
    },
    clock,
    log: silentLog,
  });
  return { limiter, redis, clock, gate, asked };
}

async function passes(process: Process, actor: Actor): Promise<boolean> {
  try {
    await process.limiter.take(actor, "verify");
    return true;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "rate_limited", String(error));
    assert.ok((error.retryAfterS ?? 0) >= 1);
    return false;
  }
}

async function countPassing(processes: Process[], actor: Actor, tries: number): Promise<number> {
  const outcomes = await Promise.all(
    Array.from({ length: tries }, (_, i) => passes(processes[i % processes.length] as Process, actor)),
  );
  return outcomes.filter(Boolean).length;
}

/** A token in a thousand seconds: nothing is refilled within a test, so every count is exact. */
const slow = (teamId: string, rateBurst: number, rest: Partial<Actor> = {}) =>
  actorFor(teamId, { ratePerS: 0.001, rateBurst }, rest);

describe("the rate over processes", () => {
  it("admits exactly the burst, over all processes", async (t) => {
    const url = await testRedisUrl();
    const processes = [await startProcess(t, url), await startProcess(t, url), await startProcess(t, url)];
    assert.equal(await countPassing(processes, slow("team_a", 10), 100), 10);
    assert.equal(await countPassing(processes, slow("team_b", 1), 60), 1);
  });

  it("never lets more through than burst and rate allow, leases and all", async (t) => {
    const url = await testRedisUrl();
    // Real time, since Redis's clock counts too; only an upper bound is asked, so a slow machine changes nothing.
    const redis = [await openRedis(t, url), await openRedis(t, url)];
    const limiters = redis.map(({ commands }) =>
      createRateLimiter({ buckets: createRateBuckets(commands), clock: systemClock, log: silentLog }),
    );
    for (const limiter of limiters) limiter.start();
    const actor = actorFor("team_busy", { ratePerS: 2_000, rateBurst: 300 });
    const beganAtMs = performance.now();
    let passed = 0;
    while (performance.now() - beganAtMs < 400 || passed < 300) {
      const takes = limiters.flatMap((limiter) =>
        Array.from({ length: 25 }, async () => limiter.take(actor, "verify")),
      );
      const outcomes = await Promise.allSettled(takes);
      passed += outcomes.filter((outcome) => outcome.status === "fulfilled").length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const elapsedS = (performance.now() - beganAtMs) / 1000;
    for (const limiter of limiters) await limiter.drain();
    assert.ok(passed <= 300 + 2_000 * elapsedS + 1, `${passed} in ${elapsedS} s`);
    assert.ok(passed >= 300, `${passed}`);
  });

  it("keeps live and test credentials, and teams, apart", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    assert.equal(await countPassing([process], slow("team_a", 3), 10), 3);
    assert.equal(await countPassing([process], slow("team_a", 3, { livemode: false }), 10), 3);
    assert.equal(await countPassing([process], slow("team_b", 3), 10), 3);
  });
});

describe("the rate in a process", () => {
  it("refuses from memory until the next token is due", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    const actor = slow("team_a", 1);
    assert.equal(await countPassing([process], actor, 2), 1);
    const before = process.asked.length;
    for (let i = 0; i < 100; i++)
      assert.throws(() => process.limiter.take(actor, "verify"), { code: "rate_limited" });
    assert.equal(process.asked.length, before);
    process.clock.advance(LIMITS.rate.refusalMaxMs);
    assert.equal(await passes(process, actor), false);
    assert.equal(process.asked.length, before + 1);
  });

  it("leases a busy team's tokens ahead and answers at once; a slow team's one by one", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    const busy = actorFor("team_busy", { ratePerS: 5_000, rateBurst: 10_000 });
    let atOnce = 0;
    for (let i = 0; i < 200; i++) {
      const answer = process.limiter.take(busy, "verify");
      if (!(answer instanceof Promise)) atOnce += 1;
      await answer;
    }
    assert.ok(atOnce > 100, `${atOnce} of 200 at once`);
    assert.ok(process.asked.length < 50, `${process.asked.length} calls`);
    process.asked.length = 0;
    for (let i = 0; i < 5; i++) await process.limiter.take(slow("team_slow", 100), "verify");
    assert.deepEqual(
      process.asked.map((request) => request.want),
      [1, 1, 1, 1, 1],
    );
  });

  it("gives back what it leased and did not use", async (t) => {
    const url = await testRedisUrl();
    const [a, b] = [await startProcess(t, url), await startProcess(t, url)];
    // A lease is sized by the rate, the count by what is taken: 1000 a second fills 1000 in no less than a second.
    const actor = actorFor("team_a", { ratePerS: 1_000, rateBurst: 100_000 });
    for (let i = 0; i < 40; i++) await a.limiter.take(actor, "verify");
    await a.limiter.drain();
    await b.limiter.take(actor, "verify");
    const { remaining } = b.limiter.snapshot(actor, "verify");
    assert.ok(remaining >= 100_000 - 41, `${remaining} remain`);
  });

  it("is not brought back to what it was by a request that began before it was lowered", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    const before = slow("team_a", 40, { limitsAsOfMs: 1 });
    const now = slow("team_a", 10, { limitsAsOfMs: 2 });
    assert.equal(await countPassing([process], now, 1), 1);
    let passed = 1;
    for (let i = 0; i < 40; i++) {
      process.limiter.snapshot(before, "verify");
      process.clock.advance(LIMITS.rate.refusalMaxMs);
      passed += await countPassing([process], i % 2 === 0 ? now : before, 1);
    }
    assert.equal(passed, 10);
    assert.ok(process.asked.every((request) => request.burst === 10));
  });

  it("says how much is left", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    const actor = slow("team_a", 5);
    assert.equal(process.limiter.snapshot(actor, "verify").remaining, 5);
    assert.equal(await countPassing([process], actor, 2), 2);
    assert.equal(process.limiter.snapshot(actor, "verify").remaining, 3);
    assert.equal(await countPassing([process], actor, 9), 3);
    assert.deepEqual(process.limiter.snapshot(actor, "verify").remaining, 0);
  });
});

describe("the rate without Redis", () => {
  it("is kept by each process from what it knew was left, and shared again when Redis is back", async (t) => {
    const process = await startProcess(t, await testRedisUrl());
    const actor = slow("team_a", 10);
    assert.equal(await countPassing([process], actor, 4), 4);
    process.gate.shut();
    assert.equal(await countPassing([process], actor, 20), 6);
    assert.throws(() => process.limiter.take(actor, "verify"), { code: "rate_limited" });
    process.gate.open();
    await until("the connection is there again", () => process.redis.commands.status === "ready");
    // Redis still has six: the process comes back to them once it has asked again.
    await process.clock.advanceAsync(LIMITS.rate.storeRetryMs + LIMITS.rate.refusalMaxMs);
    await until("the process has come back", () => passes(process, actor));
    assert.equal(await countPassing([process], actor, 20), 5);
  });

  it("starts with a full bucket when Redis was emptied", async (t) => {
    const url = await testRedisUrl();
    const process = await startProcess(t, url);
    const redis = await openRedis(t, url);
    const actor = slow("team_a", 3);
    assert.equal(await countPassing([process], actor, 9), 3);
    await redis.commands.flushdb();
    process.clock.advance(LIMITS.rate.refusalMaxMs);
    assert.equal(await countPassing([process], actor, 9), 3);
  });
});
