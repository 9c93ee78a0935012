import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedQuestions } from "../../../../src/platform/leasing/bounded-questions.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function setUp() {
  const clock = createFakeClock();
  const questions = new BoundedQuestions({ clock, timeoutMs: 100, late: () => new Error("late") });
  return { clock, questions };
}

describe("questions to a store", () => {
  it("are answered, or fail, as the store does, and leave no timer", async () => {
    const { clock, questions } = setUp();
    assert.equal(await questions.bounded(Promise.resolve(1)), 1);
    await assert.rejects(questions.bounded(Promise.reject(new Error("broken"))), /broken/);
    assert.equal(clock.pending, 0);
  });

  it("are given up after a while, all at once when the store is known not to answer", async () => {
    const { clock, questions } = setUp();
    const silent = new Promise<never>(() => undefined);
    const first = assert.rejects(questions.bounded(silent), /late/);
    await clock.advanceAsync(99);
    const second = assert.rejects(questions.bounded(silent), /late/);
    await clock.advanceAsync(1);
    await first;
    questions.giveUp();
    await second;
    assert.equal(clock.pending, 0);
  });

  it("are waited for at the end, those too that begin meanwhile, whether they fail or not", async () => {
    const { clock, questions } = setUp();
    const ends: (() => void)[] = [];
    const begin = () =>
      questions.open(new Promise<void>((_resolve, reject) => ends.push(() => reject(new Error("no")))));
    begin().catch(() => begin().catch(() => undefined));
    let isSettled = false;
    const settled = questions.settled().then(() => {
      isSettled = true;
    });
    ends[0]?.();
    await clock.advanceAsync(0);
    assert.deepEqual([isSettled, ends.length], [false, 2]);
    ends[1]?.();
    await settled;
  });
});
