import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDeadlines } from "../../../../src/platform/time/deadlines.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import fc from "../../../support/properties.ts";

const LATE_MS = 50;

describe("shared deadlines", () => {
  it("call when the time has come, a single one to the millisecond", () => {
    const clock = createFakeClock();
    const deadlines = createDeadlines(clock, LATE_MS);
    const called: number[] = [];
    deadlines.at(10_000, () => called.push(clock.monotonic()));
    clock.advance(9_999);
    assert.deepEqual(called, []);
    clock.advance(1);
    assert.deepEqual(called, [10_000]);
    clock.advance(60_000);
    assert.deepEqual(called, [10_000]);
  });

  it("call at once, in a turn of their own, where the time has passed", () => {
    const clock = createFakeClock();
    clock.advance(500);
    const called: string[] = [];
    createDeadlines(clock, LATE_MS).at(499, () => called.push("late"));
    assert.deepEqual(called, []);
    clock.advance(0);
    assert.deepEqual(called, ["late"]);
  });

  it("have one timer however many wait, and none when none waits", () => {
    const clock = createFakeClock();
    const deadlines = createDeadlines(clock, LATE_MS);
    const timers = Array.from({ length: 100 }, (_, i) => deadlines.at(1_000 - i, () => assert.fail()));
    assert.equal(clock.pending, 1);
    for (const timer of timers) timer.cancel();
    assert.equal(clock.pending, 0);
    clock.advance(2_000);
  });

  it("take what a callback cancels and what it adds", () => {
    const clock = createFakeClock();
    const deadlines = createDeadlines(clock, LATE_MS);
    const called: string[] = [];
    deadlines.at(100, () => {
      called.push("first");
      second.cancel();
      deadlines.at(120, () => called.push("third"));
    });
    const second = deadlines.at(100, () => called.push("second"));
    clock.advance(100);
    assert.deepEqual(called, ["first"]);
    clock.advance(20);
    assert.deepEqual(called, ["first", "third"]);
  });

  it("are never early, late by no more than their bound, and each is called once unless cancelled", () => {
    const wait = fc.record({
      startMs: fc.nat(500),
      afterMs: fc.nat(500),
      endsAfterMs: fc.option(fc.nat(600)),
    });
    fc.assert(
      fc.property(fc.array(wait, { maxLength: 40 }), (waits) => {
        const clock = createFakeClock();
        const deadlines = createDeadlines(clock, LATE_MS);
        const called = new Map<number, number[]>();
        for (const [i, { startMs, afterMs, endsAfterMs }] of waits.entries()) {
          called.set(i, []);
          clock.after(startMs, () => {
            const timer = deadlines.at(startMs + afterMs, () => called.get(i)?.push(clock.monotonic()));
            if (endsAfterMs !== null) clock.after(endsAfterMs, () => timer.cancel());
          });
        }
        clock.advance(2_000);
        assert.equal(clock.pending, 0);
        for (const [i, { startMs, afterMs, endsAfterMs }] of waits.entries()) {
          const times = called.get(i) ?? [];
          const dueMs = startMs + afterMs;
          const inTime = times.every((at) => at >= dueMs && at <= dueMs + LATE_MS);
          assert.ok(inTime, `${times} for ${dueMs}`);
          const isCancelled = endsAfterMs !== null && endsAfterMs <= afterMs + LATE_MS;
          assert.ok(times.length === 1 || (times.length === 0 && isCancelled), `${times.length} calls`);
        }
      }),
    );
  });
});
