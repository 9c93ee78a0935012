import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  LearnedSiteLimits,
  LearnedSiteLimitsCache,
} from "../../../../src/smtp/session/learned-site-limits.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const { memoryMs, sites } = LIMITS.learned;

function taught(): LearnedSiteLimits {
  const lessons = new LearnedSiteLimits();
  lessons.limits.recordHit({ transactions: 3, rejections: 3, written: 1, reason: "rejections" }, 0);
  return lessons;
}

describe("the lessons of sites", () => {
  it("are remembered for a while, if there are any", () => {
    const clock = createFakeClock();
    const memory = new LearnedSiteLimitsCache(clock);
    const lessons = taught();
    memory.store("a", lessons);
    memory.store("b", new LearnedSiteLimits());
    assert.equal(memory.recall("a"), lessons);
    clock.advance(memoryMs - 1);
    assert.equal(memory.recall("a").isWorthKeeping, true);
    clock.advance(1);
    assert.equal(memory.recall("a").isWorthKeeping, false);
    assert.equal(memory.recall("b").isWorthKeeping, false);
  });

  it("are those of a bounded number of sites", () => {
    const memory = new LearnedSiteLimitsCache(createFakeClock());
    for (let i = 0; i <= sites; i++) memory.store(`site${i}`, taught());
    assert.equal(memory.recall("site0").isWorthKeeping, false);
    assert.equal(memory.recall(`site${sites}`).isWorthKeeping, true);
  });
});
