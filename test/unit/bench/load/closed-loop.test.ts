import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClosedLoop } from "../../../../bench/load/closed-loop.ts";
import { parseRamp, profileOf } from "../../../../bench/load/schedule.ts";
import { createLoopFakes, result } from "../../../support/load-fakes.ts";

const steady = (level: number) => profileOf({ kind: "none" }, level);

describe("a closed loop", () => {
  it("asks on each connection as soon as it is answered", async () => {
    const { parts, clock, tally, busiest } = createLoopFakes(() => ({ delayMs: 10 }), 4);
    const ended = createClosedLoop({ ...parts, profile: steady(4) }).run();
    await clock.advanceAsync(2_000);
    assert.equal(await ended, "duration");
    assert.deepEqual([tally.measured.sent, tally.measured.answered, busiest()], [400, 400, 4]);
    assert.deepEqual(tally.faults(), []);
  });

  it("puts connections to work as the ramp says", async () => {
    const { parts, clock, sentAtMs, busiest } = createLoopFakes(() => ({ delayMs: 100 }), 4, {
      endMs: 2_000,
    });
    const profile = profileOf(parseRamp("1,4:1s", true), 4);
    const ended = createClosedLoop({ ...parts, profile }).run();
    await clock.advanceAsync(900);
    assert.equal(busiest(), 1);
    await clock.advanceAsync(5_000);
    await ended;
    assert.equal(busiest(), 4);
    const late = sentAtMs.filter((ms) => ms >= 1_000).length;
    assert.ok(late >= 36 && late <= 40, `${late} in the second of four connections`);
  });

  it("sends exactly as many requests as it may", async () => {
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: 1 }), 8, { requestsMax: 101 });
    const ended = createClosedLoop({ ...parts, profile: steady(8) }).run();
    await clock.advanceAsync(1_500);
    assert.equal(await ended, "requests");
    assert.equal(tally.measured.sent, 101);
  });

  it("ends in time although nothing is ever answered, and cuts what is under way", async () => {
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: null }), 3, { graceMs: 100 });
    const ended = createClosedLoop({ ...parts, profile: steady(3) }).run();
    await clock.advanceAsync(1_200);
    assert.equal(await ended, "duration");
    assert.deepEqual([tally.measured.sent, tally.measured.cut], [3, 3]);
    assert.deepEqual(tally.faults(), []);
  });

  it("rests while the server asks for it, where that is heeded", async () => {
    const refusal = result({ status: 503, verdict: null, code: "unavailable", retryAfterMs: 500 });
    const { parts, clock, sentAtMs, tally } = createLoopFakes(
      (path) => ({ delayMs: 10, ...(path === "/3" ? { outcome: refusal } : {}) }),
      2,
      { heeds: true },
    );
    const ended = createClosedLoop({ ...parts, profile: steady(2) }).run();
    await clock.advanceAsync(2_000);
    await ended;
    assert.equal(sentAtMs.filter((ms) => ms > 20 && ms < 520).length, 0);
    assert.ok(sentAtMs.filter((ms) => ms >= 520).length > 90);
    assert.equal(tally.codes.of("unavailable"), 1);
  });

  it("stops on `stop`", async () => {
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: 30 }), 2);
    const loop = createClosedLoop({ ...parts, profile: steady(2) });
    const ended = loop.run();
    await clock.advanceAsync(50);
    loop.stop(1_000);
    await clock.advanceAsync(100);
    assert.equal(await ended, "stopped");
    assert.deepEqual([tally.measured.sent, tally.measured.answered, tally.measured.cut], [4, 4, 0]);
  });
});
