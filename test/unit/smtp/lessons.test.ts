import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { LessonMemory, SiteLessons } from "../../../src/smtp/lessons.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { memoryMs, sites } = LIMITS.learnt;

function taught(): SiteLessons {
  const lessons = new SiteLessons();
  lessons.limits.met({ transactions: 3, rejections: 3, written: 1, says: "rejections" }, 0);
  return lessons;
}

describe("the lessons of sites", () => {
  it("are remembered for a while, if there are any", () => {
    const clock = createFakeClock();
    const memory = new LessonMemory(clock);
    const lessons = taught();
    memory.keep("a", lessons);
    memory.keep("b", new SiteLessons());
    assert.equal(memory.recall("a"), lessons);
    clock.advance(memoryMs - 1);
    assert.equal(memory.recall("a").any, true);
    clock.advance(1);
    assert.equal(memory.recall("a").any, false);
    assert.equal(memory.recall("b").any, false);
  });

  it("are those of a bounded number of sites", () => {
    const memory = new LessonMemory(createFakeClock());
    for (let i = 0; i <= sites; i++) memory.keep(`site${i}`, taught());
    assert.equal(memory.recall("site0").any, false);
    assert.equal(memory.recall(`site${sites}`).any, true);
  });
});
