import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createRateLimiter } from "../../../../src/features/rate-limit/rate-limit.ts";
import type { BucketGrant, BucketRequest } from "../../../../src/features/rate-limit/redis-buckets.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import type { Logger } from "../../../../src/platform/log.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import fc from "../../../support/properties.ts";
import { actorFor } from "../../../support/store.ts";

/** Behaviours of Redis when it is asked. */
const REDIS_STATES = ["answers", "away", "broken", "malformed", "throws", "silent"] as const;
type RedisState = (typeof REDIS_STATES)[number];

const AWAY = new Error("Connection is closed.");
const BROKEN = new TypeError("cannot read properties of undefined");
const { leaseTtlMs, answerMs } = LIMITS.rate;

/** The script of features/rate-limit/redis-buckets.ts for one bucket, on the clock of the test. */
function redisBucket(clock: FakeClock) {
  let state: { tokens: number; atMs: number; out: number; before: number; endsMs: number } | null = null;
  return ({ ratePerS, burst, want, waiting, back, used }: BucketRequest): BucketGrant => {
    const nowMs = clock.monotonic();
    state ??= { tokens: burst, atMs: nowMs, out: 0, before: 0, endsMs: 0 };
    if (nowMs >= state.endsMs) {
      state.before = nowMs >= state.endsMs + leaseTtlMs ? 0 : state.out;
      Object.assign(state, { out: 0, endsMs: nowMs + leaseTtlMs });
    }
    const returned = Math.min(back, state.before + state.out);
    const settled = Math.min(returned + used, state.before + state.out);
    const older = Math.min(settled, state.before);
    state.before -= older;
    state.out -= settled - older;
    const refilled = state.tokens + ((nowMs - state.atMs) * ratePerS) / 1_000 + returned;
    state.tokens = Math.min(refilled, Math.max(0, burst - state.out - state.before));
    state.atMs = nowMs;
    const granted = Math.max(0, Math.min(want, Math.floor(state.tokens)));
    state.tokens -= granted;
    state.out += Math.max(0, granted - waiting);
    const nextMs = state.tokens < 1 ? Math.ceil(((1 - state.tokens) * 1_000) / ratePerS) : 0;
    return { granted, left: Math.floor(state.tokens), nextMs };
  };
}

const MALFORMED: unknown[] = [
  undefined,
  null,
  {},
  { granted: Number.NaN, left: 0, nextMs: 0 },
  { granted: 1_000_000, left: 0, nextMs: 0 },
  { granted: -1, left: 5, nextMs: 0 },
  { granted: 1, left: 1.5, nextMs: 0 },
  { granted: 0, left: 0, nextMs: Number.POSITIVE_INFINITY },
  { granted: "1", left: "0", nextMs: "0" },
];

function setUp(logThrows = false) {
  const clock = createFakeClock();
  const logged = { warn: 0, error: 0, info: 0 };
  const note = (level: keyof typeof logged) => () => {
    logged[level] += 1;
    if (logThrows && level === "warn") throw new Error("the log is full");
  };
  const log = { warn: note("warn"), error: note("error"), info: note("info") } as unknown as Logger;
  const world = { weather: "answers" as RedisState, delayMs: 0, malformed: 0 };
  const grantOf = redisBucket(clock);
  const limiter = createRateLimiter({
    clock,
    log,
    buckets: {
      take(_key, request) {
        const { weather } = world;
        if (weather === "throws") throw BROKEN;
        return new Promise((resolve, reject) => {
          if (weather === "silent") return;
          clock.after(world.delayMs, () => {
            if (weather === "away") reject(AWAY);
            else if (weather === "broken") reject(BROKEN);
            else if (weather === "malformed") resolve(MALFORMED[world.malformed] as BucketGrant);
            else resolve(grantOf(request));
          });
        });
      },
      hurry() {},
    },
  });
  return { clock, limiter, logged, world };
}

/** Takes, and notes what becomes of it. */
function asker({ limiter }: ReturnType<typeof setUp>, actor: ReturnType<typeof actorFor>) {
  const counts = { passed: 0, refused: 0, failed: 0, open: 0 };
  const failedWith = (error: unknown) => {
    const isRefused = error instanceof AppError && ["rate_limited", "overloaded"].includes(error.code);
    counts[isRefused ? "refused" : "failed"] += 1;
  };
  return {
    counts,
    take() {
      try {
        const taken = limiter.take(actor, "read");
        if (taken === undefined) counts.passed += 1;
        else {
          counts.open += 1;
          taken
            .then(() => {
              counts.passed += 1;
            }, failedWith)
            .finally(() => {
              counts.open -= 1;
            });
        }
      } catch (error) {
        failedWith(error);
      }
    },
  };
}

type Step =
  | { kind: "take"; times: number }
  | { kind: "pass"; ms: number }
  | { kind: "weather"; weather: RedisState; malformed: number }
  | { kind: "delay"; ms: number };

const stepsOf = (weather: readonly RedisState[]): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("take"), times: fc.integer({ min: 1, max: 60 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.integer({ min: 1, max: 700 }) }),
      },
      fc.record({
        kind: fc.constant("weather"),
        weather: fc.constantFrom(...weather),
        malformed: fc.nat({ max: MALFORMED.length - 1 }),
      }),
      fc.record({ kind: fc.constant("delay"), ms: fc.constantFrom(0, 1, 20, 300, 1_500) }),
    ),
    { maxLength: 40, size: "max" },
  );

const rates = fc.record({
  readsPerS: fc.constantFrom(1, 20, 200, 5_000),
  readsBurst: fc.constantFrom(1, 40, 1_000),
});

/** Runs the steps, then lets all time pass that anything may take. @returns what passed, in what time, over how many changes */
async function run(steps: readonly Step[], limits: { readsPerS: number; readsBurst: number }) {
  const made = setUp();
  const { clock, limiter, world, logged } = made;
  const { counts, take } = asker(made, actorFor("team_1", limits));
  limiter.start();
  let changes = 0;
  for (const step of steps) {
    if (step.kind === "take") for (let i = 0; i < step.times; i++) take();
    if (step.kind === "pass") await clock.advanceAsync(step.ms);
    if (step.kind === "delay") world.delayMs = step.ms;
    if (step.kind === "weather") {
      if (step.weather !== world.weather) changes += 1;
      Object.assign(world, { weather: step.weather, malformed: step.malformed });
    }
  }
  const elapsedS = clock.monotonic() / 1_000;
  const drained = limiter.drain();
  await clock.advanceAsync(2 * answerMs + leaseTtlMs);
  await drained;
  return { counts, elapsedS: elapsedS + (2 * answerMs + leaseTtlMs) / 1_000, changes, logged };
}

describe("a request that waits for a token", () => {
  it("is answered whatever becomes of Redis, its answers and the process", async () => {
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(stepsOf(REDIS_STATES), rates, async (steps, limits) => {
        const { counts } = await run(steps, limits);
        assert.equal(counts.open, 0, JSON.stringify(counts));
        failed += counts.failed;
      }),
      { numRuns: 150 },
    );
    assert.ok(failed > 0, "no fault came about");
  });

  it("passes at most burst + rate x time while Redis answers", async () => {
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(stepsOf(["answers"]), rates, async (steps, limits) => {
        const { counts, elapsedS } = await run(steps, limits);
        const most = limits.readsBurst + limits.readsPerS * elapsedS;
        assert.ok(counts.passed <= most + 1e-6, `${counts.passed} of ${most}`);
        assert.equal(counts.failed, 0);
        passed += counts.passed;
      }),
      { numRuns: 150 },
    );
    assert.ok(passed > 1_000, `${passed}`);
  });

  it("passes at most as much without it, and a burst anew each time that it goes or comes", async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(["answers", "away", "silent"]), rates, async (steps, limits) => {
        const { counts, elapsedS, changes } = await run(steps, limits);
        const most = limits.readsBurst * (1 + changes) + limits.readsPerS * elapsedS;
        assert.ok(counts.passed <= most + 1e-6, `${counts.passed} of ${most}`);
        assert.equal(counts.failed, 0);
      }),
      { numRuns: 150 },
    );
  });
});

describe("what fails in a rate limiter", () => {
  const actor = actorFor("team_1", { readsPerS: 1, readsBurst: 3 });
  const FAULTS = ["broken", "malformed", "throws"] as const;

  for (const weather of FAULTS)
    it(`refuses those that wait by the fault itself and changes no mode: ${weather}`, async () => {
      const made = setUp();
      made.world.weather = weather;
      const { counts, take } = asker(made, actor);
      for (let i = 0; i < 3; i++) take();
      await made.clock.advanceAsync(1);
      assert.deepEqual([counts.failed, counts.open], [3, 0]);
      assert.deepEqual(made.logged, { warn: 0, error: 1, info: 0 });
      // Shared as before: all of the burst is there, and no more.
      made.world.weather = "answers";
      for (let i = 0; i < 5; i++) take();
      await made.clock.advanceAsync(1);
      assert.deepEqual([counts.passed, counts.refused, counts.open], [3, 2, 0]);
    });

  it("is said once a second, however many requests it meets", async () => {
    const made = setUp();
    made.world.weather = "broken";
    const { take } = asker(made, actor);
    for (let i = 0; i < 20; i++) {
      take();
      await made.clock.advanceAsync(100);
    }
    assert.equal(made.logged.error, 2);
  });

  it("while Redis is away keeps the process alone, and is said", async () => {
    const made = setUp();
    const { clock, limiter, world, logged } = made;
    const { counts, take } = asker(made, actor);
    world.weather = "away";
    take();
    await clock.advanceAsync(1);
    assert.deepEqual([counts.passed, logged.warn], [1, 1]);
    world.weather = "broken";
    await clock.advanceAsync(LIMITS.rate.storeRetryMs);
    for (let i = 0; i < 4; i++) take();
    await clock.advanceAsync(1);
    assert.deepEqual([counts.passed, counts.refused, counts.failed], [3, 2, 0]);
    assert.deepEqual(logged, { warn: 1, error: 1, info: 0 });
    assert.equal(limiter.isRefusing(clock.monotonic()), false);
    world.weather = "answers";
    await clock.advanceAsync(LIMITS.rate.storeRetryMs);
    take();
    await clock.advanceAsync(1);
    assert.equal(logged.info, 1);
  });

  it("answers all that wait as soon as one question shows that Redis is silent", async () => {
    const made = setUp();
    made.world.weather = "silent";
    const first = asker(made, actor);
    const second = asker(made, actorFor("team_2", { readsPerS: 1, readsBurst: 3 }));
    first.take();
    await made.clock.advanceAsync(answerMs - 1);
    second.take();
    await made.clock.advanceAsync(1);
    assert.deepEqual([first.counts.passed, second.counts.passed], [1, 1]);
    second.take();
    await made.clock.advanceAsync(0);
    assert.equal(second.counts.passed, 2);
  });

  it("lets no request wait when saying so fails, too", async () => {
    const made = setUp(true);
    made.world.weather = "away";
    const { counts, take } = asker(made, actor);
    for (let i = 0; i < 5; i++) take();
    await made.clock.advanceAsync(1);
    assert.deepEqual([counts.failed, counts.open], [5, 0]);
    for (let i = 0; i < 5; i++) take();
    await made.clock.advanceAsync(1);
    assert.deepEqual([counts.passed, counts.refused, counts.open], [3, 2, 0]);
  });
});

describe("what a process keeps of teams while Redis is away", () => {
  it("goes when their buckets are full again, and with Redis's return", async () => {
    const made = setUp();
    const { clock, limiter, world } = made;
    limiter.start();
    world.weather = "away";
    const teams = Array.from({ length: 50 }, (_, i) =>
      actorFor(`team_${i}`, { readsPerS: 10, readsBurst: 5 }),
    );
    for (const team of teams) asker(made, team).take();
    await clock.advanceAsync(1);
    for (const team of teams) {
      limiter.take(team, "read");
      assert.equal(limiter.snapshot(team, "read").remaining, 3);
    }
    await clock.advanceAsync(1_000);
    for (const team of teams) assert.equal(limiter.snapshot(team, "read").remaining, 5);
    await limiter.drain();
  });

  it("stays while a bucket fills, though there is no room for more: a new one would be full", async () => {
    const made = setUp();
    const { clock, limiter, world } = made;
    const slow = actorFor("team_slow", { readsPerS: 1, readsBurst: 3 });
    const { counts, take } = asker(made, slow);
    world.weather = "away";
    for (let i = 0; i < 4; i++) take();
    await clock.advanceAsync(1);
    assert.deepEqual([counts.passed, counts.refused], [3, 1]);
    for (let i = 0; i < LIMITS.rate.buckets; i++) limiter.refusal(actorFor(`team_${i}`), clock.monotonic());
    take();
    await clock.advanceAsync(1);
    assert.deepEqual([counts.passed, counts.refused], [3, 2]);
    await limiter.drain();
  });
});
