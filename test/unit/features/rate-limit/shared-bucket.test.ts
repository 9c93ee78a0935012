import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { LocalBucket } from "../../../../src/features/rate-limit/local-bucket.ts";
import { SharedBucket } from "../../../../src/features/rate-limit/shared-bucket.ts";
import { leaseStore } from "../../../support/lease-store.ts";
import fc from "../../../support/properties.ts";

const alone = (ratePerS: number, burst: number) => ({
  ratePerS,
  burst,
  want: 1,
  waiting: 1,
  back: 0,
  used: 0,
});

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
            if (bucket.take(alone(ratePerS, burst), nowMs).granted === 1) passedAt.push(nowMs);
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
    const { nextMs } = bucket.take(alone(4, 10), 0);
    assert.equal(nextMs, 250);
    assert.equal(bucket.take(alone(4, 10), nextMs - 1).granted, 0);
    assert.equal(bucket.take(alone(4, 10), nextMs).granted, 1);
  });

  it("grants nothing ahead of need, and takes back what a lease of Redis had left", () => {
    const bucket = new LocalBucket(2, 0);
    assert.deepEqual(bucket.take({ ...alone(1, 10), want: 5, waiting: 0 }, 0), {
      granted: 0,
      left: 2,
      nextMs: 0,
    });
    assert.deepEqual(bucket.take({ ...alone(1, 10), want: 0, waiting: 0, back: 3 }, 0).left, 5);
    assert.deepEqual(bucket.take({ ...alone(1, 10), want: 9, waiting: 6 }, 0), {
      granted: 5,
      left: 0,
      nextMs: 1_000,
    });
  });
});

const bucketOf = (ratePerS: number, burst: number) =>
  new SharedBucket(leaseStore(), "key", { ratePerS, burst }, "verify");

/** Whether a token was there. */
const takes = (bucket: SharedBucket, nowMs: number) => bucket.takeLeased(nowMs) !== null;

describe("a shared bucket, as a process sees it", () => {
  it("uses leased tokens until the lease ends, and accounts for them in the next request", () => {
    const bucket = bucketOf(1_000, 1_000);
    const request = bucket.nextRequest(0);
    bucket.onAnswer(request, { granted: 5, left: 100, nextMs: 0 }, 0, 1);
    assert.equal(takes(bucket, 2), true);
    assert.equal(takes(bucket, 2), true);
    assert.equal(takes(bucket, LIMITS.rate.leaseTtlMs), false);
    assert.equal(bucket.nextRequest(3).used, 2);
    assert.equal(bucket.nextRequest(3).used, 0, "told once");
  });

  it("returns what is left before its lease ends, not after", () => {
    const fresh = () => {
      const bucket = bucketOf(1_000, 1_000);
      bucket.onAnswer(bucket.nextRequest(0), { granted: 5, left: 100, nextMs: 0 }, 0, 1);
      return bucket;
    };
    assert.equal(fresh().returnRequest(1, false), null);
    assert.equal(fresh().returnRequest(1, true)?.back, 5);
    assert.equal(fresh().returnRequest(LIMITS.rate.leaseTtlMs - 1, false)?.back, 5);
    assert.equal(fresh().returnRequest(LIMITS.rate.leaseTtlMs, false), null);
  });

  it("makes no request to report used tokens, and reports none that Redis may have forgotten", () => {
    const bucket = bucketOf(1_000, 1_000);
    const grant = { granted: 2, left: 100, nextMs: 0 };
    const use = (nowMs: number) => {
      bucket.onAnswer(bucket.nextRequest(nowMs), grant, nowMs, nowMs);
      while (takes(bucket, nowMs)) {}
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
    const bucket = bucketOf(250, 1_000);
    const wants = Array.from({ length: 10 }, (_, i) => bucket.nextRequest(i).want);
    assert.equal(wants[0], 1);
    assert.equal(Math.max(...wants), (250 * LIMITS.rate.leaseSpanMs) / 1_000);
    const small = bucketOf(250, 4 * LIMITS.rate.leaseShare);
    assert.equal(Math.max(...Array.from({ length: 10 }, (_, i) => small.nextRequest(i).want)), 4);
    const slow = bucketOf(2, 10);
    assert.deepEqual(
      Array.from({ length: 5 }, (_, i) => slow.nextRequest(i).want),
      [1, 1, 1, 1, 1],
    );
  });

  it("has the next lease of a team in use before what is left of the last goes back", () => {
    // With one request every 0.8 ms a lease lasts for 100 ms or more, and an answer takes 10 ms.
    const bucket = bucketOf(5_000, 10_000);
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
      const isTaken = takes(bucket, nowMs);
      if (!isTaken) missedAtMs.push(nowMs);
      if (asked.length > 0 || (isTaken && !bucket.wantsMore(nowMs))) continue;
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
      const bucket = bucketOf(1_000, 1_000);
      let request = bucket.nextRequest(0);
      for (let i = 1; i < 5; i++) request = bucket.nextRequest(i);
      assert.equal(request.want, 16);
      bucket.onAnswer(request, { granted: 16, left: 100, nextMs: 0 }, 4, 5);
      for (let i = 0; i < used; i++) assert.equal(takes(bucket, 6), true);
      assert.equal(bucket.wantsMore(6), false);
      assert.equal(bucket.wantsMore(LIMITS.rate.leaseTtlMs / 2), true);
      return bucket.nextRequest(LIMITS.rate.leaseTtlMs / 2).want;
    };
    assert.equal(renewed(6), 16);
    assert.equal(renewed(2), 8);
  });
});
