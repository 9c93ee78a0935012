import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TickBudget } from "../../../../src/platform/time/tick-budget.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

describe("the budget of a tick", () => {
  it("is spent after its time, and whole again in a later tick", async () => {
    const clock = createFakeClock();
    const tick = new TickBudget(clock, 10);
    clock.advance(9);
    assert.equal(tick.isSpent, false);
    clock.advance(1);
    assert.equal(tick.isSpent, true);
    let others = 0;
    setImmediate(() => {
      others += 1;
    });
    await tick.renew();
    assert.equal(others, 1);
    assert.equal(tick.isSpent, false);
    clock.advance(10);
    assert.equal(tick.isSpent, true);
  });
});
