import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRearmableDeadline } from "../../../../src/smtp/wire/rearmable-deadline.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function deadline() {
  const clock = createFakeClock();
  const expired: number[] = [];
  return { clock, expired, deadline: createRearmableDeadline(clock, () => expired.push(clock.monotonic())) };
}

describe("a deadline", () => {
  it("expires once, when it is due", () => {
    const { clock, expired, deadline: due } = deadline();
    due.arm(100);
    clock.advance(1_000);
    assert.deepEqual(expired, [100]);
  });

  it("moves later without a new timer, and earlier with one", () => {
    const { clock, expired, deadline: due } = deadline();
    due.arm(100);
    clock.advance(50);
    due.arm(100);
    assert.equal(clock.pending, 1);
    clock.advance(60);
    assert.deepEqual(expired, []);
    due.arm(10);
    clock.advance(10);
    assert.deepEqual(expired, [120]);
  });

  it("does not expire while idle, and holds no timer once cancelled", () => {
    const { clock, expired, deadline: due } = deadline();
    due.arm(100);
    due.disarm();
    clock.advance(500);
    due.arm(100);
    due.cancel();
    assert.equal(clock.pending, 0);
    clock.advance(500);
    assert.deepEqual(expired, []);
  });
});
