import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createArrivals, dueAt, levelAt, parseRamp, profileOf } from "../../../../bench/load/schedule.ts";
import { createRandom } from "../../../../scripts/suggestions/random-ints.ts";

const close = (actual: number, wanted: number) =>
  assert.ok(Math.abs(actual - wanted) < 1e-6 * Math.max(1, wanted), `${actual}, not ${wanted}`);

describe("the schedule of a load", () => {
  it("is even where the rate is", () => {
    const next = createArrivals(profileOf({ kind: "none" }, 200), "uniform", Math.random);
    for (const due of [5, 10, 15, 20]) close(next(), due);
  });

  it("goes up in a straight line, then stays", () => {
    const profile = profileOf(parseRamp("10s", false), 100);
    close(levelAt(profile, 0), 0);
    close(levelAt(profile, 2_500), 25);
    close(levelAt(profile, 10_000), 100);
    close(levelAt(profile, 1e9), 100);
    // Half of 10 s · 100/s are due while it goes up: a quarter of them in its first half.
    close(dueAt(profile, 0), 0);
    close(dueAt(profile, 125), 5_000);
    close(dueAt(profile, 500), 10_000);
    close(dueAt(profile, 600), 11_000);
  });

  it("goes by levels, of which the last stays", () => {
    const profile = profileOf(parseRamp("100,200,50:10s", false), 50);
    assert.deepEqual(
      [0, 9_999, 10_000, 19_999, 20_000, 90_000].map((ms) => levelAt(profile, ms)),
      [100, 100, 200, 200, 50, 50],
    );
    close(dueAt(profile, 1_000), 10_000);
    close(dueAt(profile, 1_001), 10_005);
    close(dueAt(profile, 3_000), 20_000);
    close(dueAt(profile, 3_050), 21_000);
  });

  it("has as many arrivals of independent callers as of even ones, and gaps as they have", () => {
    const next = createArrivals(profileOf({ kind: "none" }, 1_000), "poisson", createRandom(1));
    const times = Array.from({ length: 20_000 }, next);
    const gaps = times.map((time, i) => time - (times[i - 1] ?? 0));
    assert.ok(gaps.every((gap) => gap >= 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    assert.ok(Math.abs(mean - 1) < 0.03, `mean ${mean} ms`);
    assert.ok(Math.abs(Math.sqrt(variance) - 1) < 0.05, "the deviation of an exponential gap is its mean");
  });

  it("is the same for the same seed", () => {
    const of = (seed: number) => {
      const next = createArrivals(profileOf({ kind: "none" }, 10), "poisson", createRandom(seed));
      return Array.from({ length: 5 }, next);
    };
    assert.deepEqual(of(3), of(3));
    assert.notDeepEqual(of(3), of(4));
  });
});
