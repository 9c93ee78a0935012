import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { BucketRequest } from "../../../../src/features/rate-limit/redis-buckets.ts";
import { createRateBuckets } from "../../../../src/features/rate-limit/redis-buckets.ts";
import { openRedis } from "../../../support/store.ts";

/** A token in 1000 s: within a test nothing is refilled. */
const SLOW = { ratePerS: 0.001, burst: 10 };

async function setUp(t: TestContext) {
  const redis = await openRedis(t);
  const buckets = createRateBuckets(redis.commands);
  const ask = (request: Partial<BucketRequest>) =>
    buckets.take("bucket", { ...SLOW, want: 0, waiting: 0, back: 0, used: 0, ...request });
  return { redis, ask };
}

describe("a bucket in Redis", () => {
  it("holds its burst, gives what it has, and says when the next token is due", async (t) => {
    const { ask } = await setUp(t);
    assert.deepEqual(await ask({ want: 4, waiting: 4 }), { granted: 4, left: 6, nextMs: 0 });
    assert.equal((await ask({ want: 20, waiting: 20 })).granted, 6);
    const empty = await ask({ want: 1, waiting: 1 });
    assert.equal(empty.granted, 0);
    assert.ok(empty.nextMs > 900_000 && empty.nextMs <= 1_000_000);
  });

  it("refills by Redis's clock, never above the burst", async (t) => {
    const { redis, ask } = await setUp(t);
    await ask({ want: 10, waiting: 10 });
    // As if the last look had been 3.5 tokens ago, then very long ago.
    const rewind = async (ms: number) => {
      const at = Number(await redis.commands.hget("rcpt:rate:bucket", "a"));
      await redis.commands.hset("rcpt:rate:bucket", "a", String(at - ms));
    };
    await rewind(3_500_000);
    assert.equal((await ask({ want: 10, waiting: 10 })).granted, 3);
    await rewind(1e12);
    assert.equal((await ask({ want: 99, waiting: 99 })).granted, 10);
  });

  it("keeps room for tokens on lease, so that lease and burst never pass together", async (t) => {
    const { redis, ask } = await setUp(t);
    assert.equal((await ask({ want: 6, waiting: 1 })).granted, 6);
    // The window of the lease lasts for as long as the test does, however slow the machine.
    await redis.commands.hset("rcpt:rate:bucket", { a: "0", u: "9e15" });
    assert.equal((await ask({})).left, 5, "five are out");
    assert.equal((await ask({ used: 2 })).left, 5);
    await redis.commands.hset("rcpt:rate:bucket", "a", "0");
    assert.equal((await ask({})).left, 7, "two of them were used, and have been refilled");
    assert.equal((await ask({ back: 3 })).left, 10);
  });

  it("caps returned tokens at those leased", async (t) => {
    const { ask } = await setUp(t);
    assert.equal((await ask({ want: 10, waiting: 10 })).granted, 10);
    assert.equal((await ask({ back: 7 })).left, 0);
  });

  it("forgets a bucket that has been full for a while, and a script that was flushed is sent again", async (t) => {
    const { redis, ask } = await setUp(t);
    const full = () => ask({ ratePerS: 1_000, want: 1, waiting: 1 });
    await full();
    // Sent together: Redis answers both in one moment.
    const [, ttlMs] = await Promise.all([full(), redis.commands.pttl("rcpt:rate:bucket")]);
    assert.ok(ttlMs > 0 && ttlMs <= 2 * LIMITS.rate.leaseTtlMs + 10, `${ttlMs}`);
    await redis.commands.script("FLUSH");
    await redis.commands.flushdb();
    assert.equal((await ask({ want: 1, waiting: 1 })).granted, 1);
  });
});
