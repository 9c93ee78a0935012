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
  | { kind: "tell"; left: number }
  | { kind: "wait" | "look" }
  | { kind: "serve"; isServing: boolean };

const TTL_MS = LIMITS.rate.leaseTtlMs;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("take"),
      times: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 30, max: 300 })),
    }),
  },
  fc.record({ kind: fc.constant("handOut"), times: fc.integer({ min: 1, max: 60 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("pass"),
      // At times a fraction before or behind the end of what was asked for just now.
      ms: fc.oneof(
        fc.double({ min: 0, max: TTL_MS, noNaN: true }),
        fc.constantFrom(0.25, 0.5, TTL_MS - 0.25),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("ask"),
      granted: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
      left: fc.integer({ min: 0, max: 500 }),
      nextMs: fc.integer({ min: 0, max: 2_000 }),
      tookMs: fc.oneof(fc.double({ min: 0, max: 50, noNaN: true }), fc.constantFrom(0, 0.25)),
    }),
  },
  fc.record({ kind: fc.constant("return"), all: fc.boolean() }),
  fc.record({ kind: fc.constant("tell"), left: fc.integer({ min: 0, max: 500 }) }),
  fc.record({ kind: fc.constant("wait") }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("look") }) },
  fc.record({ kind: fc.constant("serve"), isServing: fc.boolean() }),
);

/** A bucket, and what goes by it; both of a pair are told the same. */
function newBucket() {
  return new SharedBucket("key", { ratePerS: 200, burst: 500 }, "verify");
}

function requireAlike(calm: SharedBucket, plain: SharedBucket, nowMs: number): void {
  for (const told of ["remaining", "leased", "wantsPrefetch", "isExhausted"] as const)
    assert.equal(calm[told](nowMs), plain[told](nowMs), told);
  assert.equal(calm.isIdle, plain.isIdle);
}

const nobody = { resolve() {}, reject() {} };

describe("a bucket that is taken from calmly", () => {
  it("gives the same and says the same as one each of whose tokens is looked for, and wants none in advance that is not asked for", () => {
    let calmly = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const [calm, plain] = [newBucket(), newBucket()];
        let nowMs = 0;
        for (const one of steps) {
          if (one.kind === "take")
            for (let i = 0; i < one.times; i++) {
              const isCalm = calm.takeFast(nowMs);
              assert.equal(isCalm || calm.take(nowMs), plain.take(nowMs));
              if (isCalm) assert.equal(!plain.serving && plain.wantsPrefetch(nowMs), false);
              if (isCalm) calmly += 1;
              assert.equal(calm.remaining(nowMs), plain.remaining(nowMs));
            }
          if (one.kind === "handOut")
            for (let i = 0; i < one.times; i++) assert.equal(calm.take(nowMs), plain.take(nowMs));
          if (one.kind === "pass") nowMs += one.ms;
          if (one.kind === "serve") for (const bucket of [calm, plain]) bucket.serving = one.isServing;
          if (one.kind === "wait") for (const bucket of [calm, plain]) bucket.waiters.push(nobody);
          if (one.kind === "return")
            assert.deepEqual(calm.returnRequest(nowMs, one.all), plain.returnRequest(nowMs, one.all));
          if (one.kind === "tell") {
            // The answer to a return, which asks for nothing.
            const request = {
              ratePerS: 200,
              burst: 500,
              want: 0,
              waiting: 0,
              back: 1,
              used: 0,
              mayWait: true,
            };
            const grant = { granted: 0, left: one.left, nextMs: 0 };
            for (const bucket of [calm, plain]) bucket.onAnswer(request, grant, nowMs, nowMs);
          }
          if (one.kind === "ask") {
            const sentAtMs = nowMs;
            const request = plain.nextRequest(nowMs);
            assert.deepEqual(calm.nextRequest(nowMs), request);
            nowMs += one.tookMs;
            for (const bucket of [calm, plain]) bucket.onAnswer(request, one, sentAtMs, nowMs);
          }
          // A step of its own: to look may count anew, and so bring to light what would have stayed wrong.
          if (one.kind === "look") requireAlike(calm, plain, nowMs);
        }
        requireAlike(calm, plain, nowMs);
      }),
      { numRuns: 3_000 },
    );
    assert.ok(calmly > 5_000, `${calmly}`);
  });
});
