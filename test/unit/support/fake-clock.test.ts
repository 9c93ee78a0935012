import assert from "node:assert/strict";
import { test } from "node:test";
import { pause } from "../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

test("timers fire in order of due time, then of creation, each at its own time", () => {
  const clock = createFakeClock(1_000);
  const fired: string[] = [];
  clock.after(20, () => fired.push(`late ${clock.now()}`));
  clock.after(10, () => fired.push(`first ${clock.now()}`));
  clock.after(10, () => fired.push(`second ${clock.monotonic()}`));
  clock.advance(9);
  assert.deepEqual(fired, []);
  clock.advance(11);
  assert.deepEqual(fired, ["first 1010", "second 10", "late 1020"]);
  assert.equal(clock.now(), 1_020);
});

test("a timer made by a timer fires in the same move; a cancelled one never", () => {
  const clock = createFakeClock();
  let fired = 0;
  clock.after(5, () => clock.after(5, () => fired++));
  clock.after(7, () => fired++).cancel();
  clock.advance(10);
  assert.equal(fired, 1);
  assert.equal(clock.pending, 0);
});

test("advanceAsync lets promises go on between timers", async () => {
  const clock = createFakeClock();
  const seen: number[] = [];
  const work = (async () => {
    for (let i = 0; i < 3; i++) {
      await pause(clock, 10);
      seen.push(clock.monotonic());
    }
  })();
  await clock.advanceAsync(30);
  assert.deepEqual(seen, [10, 20, 30]);
  await work;
});
