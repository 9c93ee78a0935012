import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DurationSeries } from "../../../src/config/durations.ts";

describe("a series of durations", () => {
  it("counts those that took as long together as one by one", () => {
    const [together, single] = [new DurationSeries([1, 2]), new DurationSeries([1, 2])];
    together.observe(1, 3);
    together.observe(5, 2);
    for (const seconds of [1, 1, 1, 5, 5]) single.observe(seconds);
    assert.deepEqual([together.counts, together.sum], [[3, 0, 2], 13]);
    assert.deepEqual([single.counts, single.sum], [[3, 0, 2], 13]);
  });

  it("hands over what it has, once, and another one takes it in", () => {
    const [one, sum] = [new DurationSeries([1, 2]), new DurationSeries([1, 2])];
    assert.equal(one.take(), null);
    for (const seconds of [0.5, 1.5, 9]) {
      one.observe(seconds);
      sum.add(one.take() ?? assert.fail("it has something"));
    }
    assert.equal(one.take(), null);
    assert.deepEqual([sum.counts, sum.sum], [[1, 1, 1], 11]);
  });
});
