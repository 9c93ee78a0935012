import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { LocalBucket, SharedBucket } from "../../../../src/features/rate-limit/bucket.ts";
import fc from "../../../support/properties.ts";

describe("the bucket of a process alone", () => {
  it("lets no more through in any time than burst and rate allow", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 100 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 10 }),
        (pauses, ratePerS, burst) => {
          const bucket = new LocalBucket(burst, 0);
          const passedAt: number[] = [];
          let nowMs = 0;
          for (const pauseMs of pauses) {
            nowMs += pauseMs;
            if (bucket.take(nowMs, ratePerS, burst) === 0) passedAt.push(nowMs);
          }
          for (const [i, fromMs] of passedAt.entries())
            for (const [j, toMs] of passedAt.entries())
              if (j >= i) assert.ok(j - i + 1 <= burst + ((toMs - fromMs) * ratePerS) / 1000 + 1e-6);
        },
      ),
    );
  });

  it("says when the next token is due", () => {
    const bucket = new LocalBucket(0, 0);
    const waitMs = bucket.take(0, 4, 10);
    assert.equal(waitMs, 250);
    assert.equal(bucket.take(waitMs - 1, 4, 10) > 0, true);
    assert.equal(bucket.take(waitMs, 4, 10), 0);
  });
});

describe("a shared bucket, as a process sees it", () => {
  it("uses leased tokens until the lease ends, and accounts for them in the next request", () => {
    const bucket = new SharedBucket("key", { ratePerS: 1_000, burst: 1_000 }, "verify");
    const request = bucket.nextRequest(0);
    bucket.onAnswer(request, { granted: 5, left: 100, nextMs: 0 }, 0, 1);
    assert.equal(bucket.take(2), true);
    assert.equal(bucket.take(2), true);
    assert.equal(bucket.take(LIMITS.rate.leaseTtlMs), false);
    assert.equal(bucket.nextRequest(3).used, 2);
    assert.equal(bucket.nextRequest(3).used, 0, "told once");
  });

  it("returns what is left before its lease ends, not after", () => {
    const fresh = () => {
      const bucket = new SharedBucket("key", { ratePerS: 1_000, burst: 1_000 }, "verify");
      bucket.onAnswer(bucket.nextRequest(0), { granted: 5, left: 100, nextMs: 0 }, 0, 1);
      return bucket;
    };
    assert.equal(fresh().returnRequest(1, false), null);
    assert.equal(fresh().returnRequest(1, true)?.back, 5);
    assert.equal(fresh().returnRequest(LIMITS.rate.leaseTtlMs - 1, false)?.back, 5);
    assert.equal(fresh().returnRequest(LIMITS.rate.leaseTtlMs, false), null);
  });

  it("makes no request to report used tokens, and reports none that Redis may have forgotten", () => {
    const bucket = new SharedBucket("key", { ratePerS: 1_000, burst: 1_000 }, "verify");
    const grant = { granted: 2, left: 100, nextMs: 0 };
    const use = (nowMs: number) => {
      bucket.onAnswer(bucket.nextRequest(nowMs), grant, nowMs, nowMs);
      while (bucket.take(nowMs)) {}
      assert.equal(bucket.returnRequest(nowMs, false), null);
      assert.equal(bucket.returnRequest(nowMs, true), null);
    };
    use(0);
    assert.equal(bucket.nextRequest(1).used, 2);
    use(1_000);
    assert.equal(bucket.isIdle, false);
    assert.equal(bucket.returnRequest(1_000 + LIMITS.rate.leaseTtlMs, false), null);
    assert.equal(bucket.isIdle, true);
    assert.equal(bucket.nextRequest(2_000).used, 0);
  });

  it("asks for more as more is taken, never for more than a moment's worth", () => {
    const bucket = new SharedBucket("key", { ratePerS: 250, burst: 1_000 }, "verify");
    const wants = Array.from({ length: 10 }, (_, i) => bucket.nextRequest(i).want);
    assert.equal(wants[0], 1);
    assert.equal(Math.max(...wants), (250 * LIMITS.rate.leaseSpanMs) / 1_000);
    const small = new SharedBucket("key", { ratePerS: 250, burst: 4 * LIMITS.rate.leaseShare }, "verify");
    assert.equal(Math.max(...Array.from({ length: 10 }, (_, i) => small.nextRequest(i).want)), 4);
    const slow = new SharedBucket("key", { ratePerS: 2, burst: 10 }, "verify");
    assert.deepEqual(
      Array.from({ length: 5 }, (_, i) => slow.nextRequest(i).want),
      [1, 1, 1, 1, 1],
    );
  });

  it("has the next lease of a team in use before what is left of the last goes back", () => {
    // With one request every 0.8 ms a lease lasts for 100 ms or more, and an answer takes 10 ms.
    const bucket = new SharedBucket("key", { ratePerS: 5_000, burst: 10_000 }, "verify");
    const asked: { answerAtMs: number; sentAtMs: number; request: ReturnType<typeof bucket.nextRequest> }[] =
      [];
    const missedAtMs: number[] = [];
    let questions = 0;
    let lookAtMs = 0;
    for (let nowMs = 0; nowMs < 3_000; nowMs += 0.8) {
      const [first] = asked;
      if (first !== undefined && nowMs >= first.answerAtMs) {
        asked.shift();
        const granted = Math.max(first.request.want, 1);
        bucket.onAnswer(first.request, { granted, left: 9_000, nextMs: 0 }, first.sentAtMs, nowMs);
      }
      if (nowMs >= lookAtMs) {
        bucket.returnRequest(nowMs, false);
        lookAtMs += LIMITS.rate.leaseTtlMs / 4;
      }
      const isTaken = bucket.take(nowMs);
      if (!isTaken) missedAtMs.push(nowMs);
      if (asked.length > 0 || (isTaken && !bucket.wantsPrefetch(nowMs))) continue;
      asked.push({ answerAtMs: nowMs + 10, sentAtMs: nowMs, request: bucket.nextRequest(nowMs) });
      questions += 1;
    }
    assert.deepEqual(
      missedAtMs.filter((ms) => ms > 500),
      [],
    );
    assert.ok(questions < 25, `${questions} questions in three seconds`);
  });

  it("renews an old lease with as many, with half of them where hardly any was used", () => {
    const renewed = (used: number) => {
      const bucket = new SharedBucket("key", { ratePerS: 1_000, burst: 1_000 }, "verify");
      let request = bucket.nextRequest(0);
      for (let i = 1; i < 5; i++) request = bucket.nextRequest(i);
      assert.equal(request.want, 16);
      bucket.onAnswer(request, { granted: 16, left: 100, nextMs: 0 }, 4, 5);
      for (let i = 0; i < used; i++) assert.equal(bucket.take(6), true);
      assert.equal(bucket.wantsPrefetch(6), false);
      assert.equal(bucket.wantsPrefetch(LIMITS.rate.leaseTtlMs / 2), true);
      return bucket.nextRequest(LIMITS.rate.leaseTtlMs / 2).want;
    };
    assert.equal(renewed(6), 16);
    assert.equal(renewed(2), 8);
  });
});
