import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { SharedBucket } from "../../../../src/services/rate-limit/bucket.ts";
import fc from "../../../support/properties.ts";

type Step =
  | { kind: "take" | "handOut"; times: number }
  | { kind: "pass"; ms: number }
  | { kind: "ask"; granted: number; left: number; nextMs: number; tookMs: number }
  | { kind: "return"; all: boolean }
  | { kind: "wait" };

const TTL_MS = LIMITS.rate.leaseTtlMs;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("take"), times: fc.integer({ min: 1, max: 30 }) }),
  },
  fc.record({ kind: fc.constant("handOut"), times: fc.integer({ min: 1, max: 60 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("pass"),
      ms: fc.double({ min: 0, max: TTL_MS, noNaN: true }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("ask"),
      granted: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
      left: fc.integer({ min: 0, max: 500 }),
      nextMs: fc.integer({ min: 0, max: 2_000 }),
      tookMs: fc.double({ min: 0, max: 50, noNaN: true }),
    }),
  },
  fc.record({ kind: fc.constant("return"), all: fc.boolean() }),
  fc.record({ kind: fc.constant("wait") }),
);

/** A bucket, and what goes by it; both of a pair are told the same. */
function newBucket() {
  return new SharedBucket("key", 200, 500);
}

const nobody = { resolve() {}, reject() {} };

describe("a bucket that is taken from calmly", () => {
  it("gives the same and says the same as one each of whose tokens is looked for, and wants none in advance then", () => {
    let calmly = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const [calm, plain] = [newBucket(), newBucket()];
        let nowMs = 0;
        for (const one of steps) {
          if (one.kind === "take")
            for (let i = 0; i < one.times; i++) {
              const isCalm = calm.takeCalmly(nowMs);
              assert.equal(isCalm || calm.take(nowMs), plain.take(nowMs));
              if (isCalm) assert.equal(plain.wantsPrefetch(nowMs), false);
              if (isCalm) calmly += 1;
              assert.equal(calm.remaining(nowMs), plain.remaining(nowMs));
            }
          if (one.kind === "handOut")
            for (let i = 0; i < one.times; i++) assert.equal(calm.take(nowMs), plain.take(nowMs));
          if (one.kind === "pass") nowMs += one.ms;
          if (one.kind === "wait") for (const bucket of [calm, plain]) bucket.waiters.push(nobody);
          if (one.kind === "return")
            assert.deepEqual(calm.returnRequest(nowMs, one.all), plain.returnRequest(nowMs, one.all));
          if (one.kind === "ask") {
            const sentAtMs = nowMs;
            const request = plain.nextRequest(nowMs);
            assert.deepEqual(calm.nextRequest(nowMs), request);
            nowMs += one.tookMs;
            for (const bucket of [calm, plain]) bucket.answered(request, one, sentAtMs, nowMs);
          }
          for (const told of ["remaining", "leased", "wantsPrefetch", "isDry"] as const)
            assert.equal(calm[told](nowMs), plain[told](nowMs), told);
          assert.equal(calm.isIdle, plain.isIdle);
        }
      }),
      { numRuns: 1_000 },
    );
    assert.ok(calmly > 5_000, `${calmly}`);
  });
});
