import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOpenLoop } from "../../../../bench/load/open-loop.ts";
import { createArrivals, profileOf } from "../../../../bench/load/schedule.ts";
import type { LoopParts } from "../../../../bench/load/sender.ts";
import { createLoopFakes, result } from "../../../support/load-fakes.ts";

const openLoop = (parts: LoopParts, rate: number, backlogMax = 10_000) =>
  createOpenLoop({
    ...parts,
    backlogMax,
    arrivals: createArrivals(profileOf({ kind: "none" }, rate), "uniform", Math.random),
  });

describe("an open loop", () => {
  it("sends at the times of its schedule until its time is over, and waits for what is under way", async () => {
    const { parts, clock, tally, sentAtMs } = createLoopFakes(() => ({ delayMs: 40 }), 10);
    const ended = openLoop(parts, 100).run();
    await clock.advanceAsync(2_000);
    assert.equal(await ended, "duration");
    assert.equal(sentAtMs.length, 99, "the hundredth is due when the time is over");
    assert.ok(sentAtMs.every((ms, i) => Math.abs(ms - (i + 1) * 10) < 1e-6));
    assert.deepEqual(
      [tally.measured.answered, tally.response.percentile(50)],
      [99, tally.response.percentile(99)],
    );
    assert.deepEqual(tally.faults(), []);
  });

  it("measures from the time a request was due: a server that stalls is not asked less, and does not look better", async () => {
    // One request is answered after a second, all others in a millisecond; there is one connection.
    const { parts, clock, tally } = createLoopFakes((path) => ({ delayMs: path === "/0" ? 1_000 : 1 }), 1, {
      endMs: 2_000,
    });
    const ended = openLoop(parts, 100).run();
    await clock.advanceAsync(5_000);
    assert.equal(await ended, "duration");
    assert.deepEqual([tally.measured.sent, tally.measured.unsent], [199, 0]);
    // Half of all requests fell due in the stalled second. On average they waited for half a second.
    assert.ok((tally.response.percentile(75) ?? 0) > 400_000);
    assert.equal(
      tally.service.percentile(90),
      1_000,
      "what the server took was a millisecond for nearly all",
    );
  });

  it("counts what it cannot send, and holds no more than its backlog", async () => {
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: null }), 2, { graceMs: 100 });
    const loop = openLoop(parts, 100, 5);
    const ended = loop.run();
    await clock.advanceAsync(900);
    assert.deepEqual([loop.inFlight, loop.waiting], [2, 5]);
    await clock.advanceAsync(500);
    assert.equal(await ended, "duration");
    const { planned, sent, cut, unsent } = tally.measured;
    assert.deepEqual({ planned, sent, cut, unsent }, { planned: 99, sent: 2, cut: 2, unsent: 97 });
    assert.deepEqual(tally.faults(), []);
  });

  it("ends when all requests are sent", async () => {
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: 1 }), 4, { requestsMax: 30 });
    const ended = openLoop(parts, 100).run();
    await clock.advanceAsync(2_000);
    assert.equal(await ended, "requests");
    assert.equal(tally.measured.sent, 30);
  });

  it("does not measure its warm-up, nor lose it", async () => {
    const { parts, clock, tally } = createLoopFakes((_, ms) => ({ delayMs: ms < 500 ? 300 : 1 }), 100, {
      warmUpMs: 500,
    });
    const ended = openLoop(parts, 100).run();
    await clock.advanceAsync(2_000);
    await ended;
    assert.deepEqual([tally.warmUp.answered, tally.measured.answered], [49, 50]);
    assert.equal(tally.response.view().maxUs, 1_000);
  });

  it("sends nothing while the server asks it not to, where that is heeded, and counts what fell due meanwhile", async () => {
    const refusal = { delayMs: 0, outcome: result({ status: 429, verdict: null, retryAfterMs: 300 }) };
    for (const heeds of [true, false]) {
      const fakes = createLoopFakes((path) => (path === "/9" ? refusal : { delayMs: 1 }), 10, { heeds });
      const ended = openLoop(fakes.parts, 100).run();
      await fakes.clock.advanceAsync(2_000);
      await ended;
      const { heldBack, sent } = fakes.tally.measured;
      assert.deepEqual([heldBack, sent], heeds ? [29, 70] : [0, 99]);
      assert.equal(fakes.tally.statuses.of("429"), 1);
      const gap = fakes.sentAtMs.filter((ms) => ms > 101 && ms < 399);
      assert.equal(gap.length, heeds ? 0 : 29);
      assert.deepEqual(fakes.tally.faults(), []);
    }
  });

  it("stops on `stop`: waiting requests are unsent, those in flight have their grace", async () => {
    const { parts, clock, tally } = createLoopFakes((path) => ({ delayMs: path === "/1" ? null : 200 }), 2);
    const loop = openLoop(parts, 100);
    const ended = loop.run();
    await clock.advanceAsync(100);
    loop.stop(500);
    await clock.advanceAsync(1_000);
    assert.equal(await ended, "stopped");
    const { planned, sent, answered, cut, unsent } = tally.measured;
    assert.deepEqual([planned, sent, answered, cut, unsent], [10, 2, 1, 1, 8]);
    assert.deepEqual(tally.faults(), []);
  });

  it("ends at once when it is stopped before it began, or hurried", async () => {
    const early = createLoopFakes(() => ({ delayMs: 1 }), 1);
    const unbegun = openLoop(early.parts, 100);
    unbegun.stop(1_000);
    assert.equal(await unbegun.run(), "stopped");
    const { parts, clock, tally } = createLoopFakes(() => ({ delayMs: null }), 3);
    const loop = openLoop(parts, 100);
    const ended = loop.run();
    await clock.advanceAsync(100);
    loop.stop(5_000);
    loop.stop(0);
    await clock.advanceAsync(0);
    assert.equal(await ended, "stopped");
    assert.equal(tally.measured.cut, 3);
  });

  it("tries a connection that cannot be made again only after a while", async () => {
    const refused = { delayMs: 0, outcome: { kind: "failure", cause: "connect" } as const };
    const { parts, clock, tally, sentAtMs } = createLoopFakes(() => refused, 1);
    const ended = openLoop(parts, 1_000, 0).run();
    await clock.advanceAsync(3_000);
    await ended;
    assert.ok(sentAtMs.length <= 11, `${sentAtMs.length} dials in a second`);
    assert.equal(tally.failures.of("connect"), sentAtMs.length);
    assert.deepEqual(tally.faults(), []);
  });
});
