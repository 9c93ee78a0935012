import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { LearnedLimit } from "../../../../src/smtp/session/learned-limit.ts";
import fc from "../../../support/properties.ts";

const { holdMs, holdMaxMs, stepMs } = LIMITS.learned;

describe("a learnt ceiling", () => {
  it("is none until something went wrong, and never below one", () => {
    const ceiling = new LearnedLimit();
    assert.deepEqual([ceiling.isKnown, ceiling.safeMax, ceiling.take(0)], [false, Infinity, Infinity]);
    ceiling.lower(0, 0);
    assert.deepEqual([ceiling.isKnown, ceiling.safeMax], [true, 1]);
  });

  it("lets one caller try a little more after a while, twice as long after each try that failed", () => {
    const ceiling = new LearnedLimit();
    ceiling.lower(3, 0);
    let now = 0;
    for (let hold = holdMs; hold < holdMaxMs; hold *= 2) {
      assert.equal(ceiling.take(now + hold - 1), 3);
      now += hold;
      assert.deepEqual([ceiling.take(now), ceiling.take(now)], [4, 3]);
      ceiling.lower(3, now);
    }
    now += holdMaxMs;
    assert.equal(ceiling.take(now), 4);
    ceiling.lower(3, now);
    assert.equal(ceiling.take(now + holdMaxMs), 4, "at most so long");
  });

  it("does not wait longer for transactions in flight when it was learnt", () => {
    const ceiling = new LearnedLimit();
    for (let i = 0; i < 20; i++) ceiling.lower(3, 0);
    assert.equal(ceiling.take(holdMs), 4);
  });

  it("grows ever faster once tries go well", () => {
    const ceiling = new LearnedLimit();
    ceiling.lower(3, 0);
    let now = holdMs;
    for (const tried of [4, 6, 10, 18]) {
      assert.equal(ceiling.take(now), tried);
      ceiling.recordSuccess(tried, now);
      assert.equal(ceiling.safeMax, tried);
      now += stepMs;
    }
    ceiling.lower(9, now);
    assert.deepEqual([ceiling.safeMax, ceiling.take(now + holdMs)], [9, 10], "and goes back to small steps");
  });

  it("settles at any limit, and comes off it when it is gone", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60 }), (limit, begin) => {
        const ceiling = new LearnedLimit();
        let failures = 0;
        let now = 0;
        const ask = (bound: number) => {
          const count = Math.min(ceiling.take(now), Math.max(begin, limit));
          if (count > bound) {
            failures++;
            ceiling.lower(bound, now);
          } else ceiling.recordSuccess(count, now);
        };
        for (let i = 0; i < 2_000; i++, now += 5_000) ask(limit);
        if (begin > limit) assert.equal(ceiling.safeMax, limit);
        assert.ok(failures <= 12, `${failures} in ${now} ms`);
        for (let i = 0; i < 2_000; i++, now += 5_000) ask(100);
        assert.ok(!ceiling.isKnown || ceiling.safeMax >= begin);
      }),
    );
  });
});
