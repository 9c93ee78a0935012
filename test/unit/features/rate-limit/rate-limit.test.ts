import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createRateLimiter } from "../../../../src/features/rate-limit/rate-limit.ts";
import { createRateBuckets } from "../../../../src/features/rate-limit/redis-buckets.ts";
import type { RedisClient } from "../../../../src/stores/redis.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const WANT_ARG = 3;
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Redis that grants all that is asked for. */
function grantingRedis() {
  const redis = {
    calls: 0,
    /** Of the last call, in the order in which Redis reads them. */
    asked: [] as { waiting: number; back: number }[],
    defineCommand() {},
    async rcptTakeTokens(keys: number, ...args: (string | number)[]) {
      redis.calls += 1;
      redis.asked = Array.from({ length: keys }, (_, i) => {
        const [waiting = 0, back = 0] = args.slice(keys + 6 * i + WANT_ARG + 1).map(Number);
        return { waiting, back };
      });
      return Array.from({ length: keys }, (_, i) => [
        Number(args[keys + 6 * i + WANT_ARG]),
        100_000,
        0,
      ]).flat();
    },
  };
  return redis;
}

describe("a request that comes to wait", () => {
  it("takes along in its turn the question for tokens ahead that was being gathered", async (t) => {
    // Timers stand still: gathered requests are sent when one is hurried, or never.
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const redis = grantingRedis();
    const clock = createFakeClock();
    const buckets = createRateBuckets(redis as unknown as RedisClient);
    const limiter = createRateLimiter({ buckets, clock, log: silentLog });
    const actor = actorFor("team_1", { ratePerS: 10_000, rateBurst: 20_000 });
    // Asked so quickly, it leases twice as much each time.
    for (let i = 0; i < 6; i++) {
      const waits = Array.from({ length: 3 }, () => limiter.take(actor, "verify"));
      await endOfTurn();
      await Promise.all(waits);
      await endOfTurn();
    }
    const waiting: Promise<void>[] = [];
    const before = redis.calls;
    let taken = 0;
    for (; waiting.length === 0 && taken < 1_000; taken++) {
      const wait = limiter.take(actor, "verify");
      if (wait !== undefined) waiting.push(wait);
    }
    assert.equal(waiting.length, 1, "all that was leased is gone");
    assert.ok(taken > 4, "so much was leased that more was asked for ahead of need");
    assert.equal(redis.calls, before);
    await endOfTurn();
    assert.equal(redis.calls, before + 1);
    await Promise.all(waiting);
  });
});

describe("a request that comes while tokens are on their way back", () => {
  it("is asked for after them: Redis may have no others", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const redis = grantingRedis();
    const clock = createFakeClock();
    const buckets = createRateBuckets(redis as unknown as RedisClient);
    const limiter = createRateLimiter({ buckets, clock, log: silentLog });
    const actor = actorFor("team_1", { ratePerS: 10_000, rateBurst: 20_000 });
    limiter.start();
    for (let i = 0; i < 6; i++) {
      const waits = Array.from({ length: 3 }, () => limiter.take(actor, "verify"));
      await endOfTurn();
      await Promise.all(waits);
      await endOfTurn();
    }
    assert.ok(limiter.isLeased(actor, clock.monotonic()));
    await clock.advanceAsync(LIMITS.rate.leaseTtlMs / 2);
    assert.ok(!limiter.isLeased(actor, clock.monotonic()), "what is left is being returned");
    const wait = limiter.take(actor, "verify");
    await endOfTurn();
    await wait;
    assert.deepEqual(
      redis.asked.map(({ waiting, back }) => [waiting > 0, back > 0]),
      [
        [false, true],
        [true, false],
      ],
    );
    await limiter.drain();
  });
});

describe("questions for tokens ahead", () => {
  const request = { ratePerS: 10, burst: 20, want: 2, back: 0, used: 0 };
  const { gatherMs } = LIMITS.rate;

  it("are one call for all that are gathered, at once when somebody hurries", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const redis = grantingRedis();
    const buckets = createRateBuckets(redis as unknown as RedisClient);
    const take = (key: string) => buckets.take(key, { ...request, waiting: 0 });
    const callsAfter = async (ms: number) => {
      t.mock.timers.tick(ms);
      await endOfTurn();
      return redis.calls;
    };
    const soon = [take("a"), take("b")];
    assert.equal(await callsAfter(gatherMs - 1), 0);
    assert.equal(await callsAfter(1), 1);
    await Promise.all(soon);
    const hurried = take("d");
    buckets.hurry("e");
    await endOfTurn();
    assert.equal(redis.calls, 1);
    buckets.hurry("d");
    await endOfTurn();
    assert.equal(redis.calls, 2);
    await hurried;
  });
});

describe("a limiter that goes", () => {
  it("waits for tokens in transit, and returns all that were not taken", async () => {
    const clock = createFakeClock();
    let out = 0;
    const gathered: (() => void)[] = [];
    const limiter = createRateLimiter({
      clock,
      log: silentLog,
      buckets: {
        async take(_key, { want, waiting, back, used }) {
          if (waiting === 0) await new Promise<void>((resolve) => gathered.push(resolve));
          out += want - waiting - back - used;
          return { granted: want, left: 1_000, nextMs: 0 };
        },
        hurry() {
          for (const send of gathered.splice(0)) send();
        },
      },
    });
    const actor = actorFor("team_1", { ratePerS: 1_000, rateBurst: 10_000 });
    // Until half of a lease is used, and the next one is asked for.
    for (let i = 0; gathered.length === 0 && i < 1_000; i++) await limiter.take(actor, "verify");
    assert.equal(gathered.length, 1);
    await limiter.drain();
    assert.deepEqual([out, gathered], [0, []]);
  });
});

describe("what is known to be refused", () => {
  /** A limiter whose store grants `tokens`, and then says that there are more after `nextMs`. */
  function setUp(tokens: number, nextMs: number) {
    const clock = createFakeClock();
    let left = tokens;
    const limiter = createRateLimiter({
      clock,
      log: silentLog,
      buckets: {
        async take(_key, { want, back }) {
          left += back;
          const granted = Math.min(want, left);
          left -= granted;
          return { granted, left, nextMs: granted < want ? nextMs : 0 };
        },
        hurry() {},
      },
    });
    const actor = actorFor("team_1", { ratePerS: 2, rateBurst: 2 });
    const refused = async () => {
      try {
        await limiter.take(actor, "verify");
        return null;
      } catch (error) {
        return error;
      }
    };
    return { clock, limiter, actor, refused };
  }

  it("has the very text of a take's, for as long as a take would refuse, and takes nothing", async () => {
    const { clock, limiter, actor, refused } = setUp(1, 700);
    const other = actorFor("team_2", { ratePerS: 2, rateBurst: 2 });
    assert.equal(limiter.isRefusing(clock.monotonic()), false);
    assert.equal(limiter.refusal(actor, clock.monotonic()), null);
    assert.equal(await refused(), null);
    const error = await refused();
    assert.ok(error instanceof Error);
    assert.equal(limiter.isRefusing(clock.monotonic()), true);
    assert.equal(limiter.refusal(actor, clock.monotonic()), error);
    assert.equal(limiter.refusal(actor, clock.monotonic()), await refused());
    assert.equal(limiter.refusal(other, clock.monotonic()), null);
    clock.advance(699);
    assert.ok(limiter.refusal(actor, clock.monotonic()) !== null);
    clock.advance(1);
    assert.equal(limiter.refusal(actor, clock.monotonic()), null);
    // It was so a moment ago, and may be so again.
    assert.equal(limiter.isRefusing(clock.monotonic()), true);
    clock.advance(LIMITS.rate.refusalMaxMs);
    assert.equal(limiter.isRefusing(clock.monotonic()), false);
  });

  it("is given at once where a wait would be in vain, for as long as that is known", async () => {
    const { clock, limiter, actor, refused } = setUp(1, 100);
    assert.equal(await refused(), null);
    assert.ok((await refused()) instanceof Error);
    clock.advance(100);
    // Two tokens a second: less than one has come, as far as this process knows, and the first caller may check.
    const first = refused();
    assert.ok(limiter.refusal(actor, clock.monotonic()) !== null);
    assert.throws(() => limiter.take(actor, "verify"), { code: "rate_limited" });
    assert.ok((await first) instanceof Error);
    clock.advance(100);
    const second = refused();
    assert.ok(limiter.refusal(actor, clock.monotonic()) !== null);
    clock.advance(LIMITS.rate.newsMs);
    assert.equal(limiter.refusal(actor, clock.monotonic()), null);
    assert.ok((await second) instanceof Error);
  });
});
