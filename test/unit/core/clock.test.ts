import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { msToNextBeat } from "../../../src/core/clock.ts";

describe("the time to the next beat", () => {
  it("is whole milliseconds, to the same moment for all who begin before it", () => {
    for (const [nowMs, expected] of [
      [0, 100],
      [0.4, 100],
      [1, 99],
      [98, 2],
      [101.5, 99],
    ] as const)
      assert.equal(msToNextBeat(nowMs, 100), expected);
  });

  it("passes over a moment that a timer came up to a millisecond too soon for", () => {
    assert.equal(msToNextBeat(99, 100), 101);
    assert.equal(msToNextBeat(99.7, 100), 101);
    assert.equal(msToNextBeat(100, 100), 100);
  });
});
