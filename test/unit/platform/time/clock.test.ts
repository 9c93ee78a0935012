import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { msToNextInterval, pause } from "../../../../src/platform/time/clock.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

interface Ends {
  clock: FakeClock;
  halter: AbortController;
}

describe("the time to the next interval", () => {
  it("is whole milliseconds, to the same moment for all who begin before it", () => {
    for (const [nowMs, expected] of [
      [0, 100],
      [0.4, 100],
      [1, 99],
      [98, 2],
      [101.5, 99],
    ] as const)
      assert.equal(msToNextInterval(nowMs, 100), expected);
  });

  it("passes over a moment that a timer came up to a millisecond too soon for", () => {
    assert.equal(msToNextInterval(99, 100), 101);
    assert.equal(msToNextInterval(99.7, 100), 101);
    assert.equal(msToNextInterval(100, 100), 100);
  });
});

describe("a pause", () => {
  for (const [by, end] of [
    ["its time", ({ clock }) => clock.advance(100)],
    ["who halts it", ({ halter }) => halter.abort()],
  ] satisfies [string, (ends: Ends) => void][])
    it(`is ended by ${by}, and leaves no timer`, async () => {
      const clock = createFakeClock();
      const halter = new AbortController();
      const paused = pause(clock, 100, halter.signal);
      assert.equal(clock.pending, 1);
      end({ clock, halter });
      await paused;
      assert.equal(clock.pending, 0);
    });

  it("is none where it is halted already", async () => {
    const clock = createFakeClock();
    await pause(clock, 100, AbortSignal.abort());
    assert.equal(clock.pending, 0);
  });
});
