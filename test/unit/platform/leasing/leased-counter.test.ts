import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../src/platform/errors.ts";
import { LeasedCounter, type LeaseStore } from "../../../../src/platform/leasing/leased-counter.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { leaseStore } from "../../../support/lease-store.ts";

const REFUSED = new AppError("rate_limited", "Refused.");
const SIZES = { first: 2, goneMs: 100, lastedMs: 500 };

/** Numbers the units that it gives out. The store's answer is a number of units; with none, requests are refused. */
class NumberedUnits extends LeasedCounter<number> {
  left = 0;
  given = 0;
  isRefusing = false;

  takeLeased(): number | null {
    if (this.left === 0) return null;
    this.left -= 1;
    this.given += 1;
    return this.given;
  }

  wantsMore(): boolean {
    return this.left === 1;
  }

  refusal(): AppError | null {
    return this.isRefusing ? REFUSED : null;
  }

  get isIdle(): boolean {
    return this.left === 0 && !this.isAwaited;
  }

  sizeAt(nowMs: number, most = 1_000, isRenewal = false): number {
    return this.nextSize(nowMs, most, isRenewal);
  }

  grant(units: number): void {
    this.left += units;
    this.isRefusing = units === 0;
  }
}

/** A counter whose store is answered by the test. */
function setUp(parts: Partial<LeaseStore<NumberedUnits, number>> = {}) {
  const clock = createFakeClock();
  const questions: { waiting: number; answer(units: number): void; fail(error: Error): void }[] = [];
  const counter = new NumberedUnits(
    leaseStore<NumberedUnits, number>({
      clock,
      sizes: SIZES,
      lease: (asking) =>
        new Promise((resolve, reject) => {
          questions.push({
            waiting: asking.waiting,
            answer(units) {
              asking.grant(units);
              resolve();
            },
            fail: reject,
          });
        }),
      ...parts,
    }),
  );
  const outcomes: (number | string)[] = [];
  return {
    ...{ clock, counter, questions, outcomes },
    /** Takes so many units, and notes what each request got, in the order in which they were settled. */
    take(count: number): void {
      for (let i = 0; i < count; i++) {
        const taken = counter.take(clock.monotonic());
        if (!(taken instanceof Promise)) outcomes.push(taken);
        else
          taken.then(
            (unit) => outcomes.push(unit),
            (error: Error) => outcomes.push(error.message),
          );
      }
    },
    async answer(units: number): Promise<void> {
      questions.at(-1)?.answer(units);
      await clock.advanceAsync(0);
    },
  };
}

describe("a leased counter", () => {
  it("gives out what is leased at once, and asks for more ahead of need, once at a time", async () => {
    const { counter, questions, outcomes, take, answer } = setUp();
    counter.grant(4);
    take(2);
    assert.equal(questions.length, 0);
    take(1);
    assert.deepEqual([outcomes, questions.length, counter.waiting], [[1, 2, 3], 1, 0]);
    counter.grant(1);
    take(1);
    assert.equal(questions.length, 1, "one question at a time");
    await answer(5);
    take(5);
    assert.deepEqual([outcomes.length, questions.length], [9, 2]);
  });

  it("asks for nothing ahead of need once its process ends", () => {
    const { counter, questions, take } = setUp({ isDraining: true });
    counter.grant(3);
    take(3);
    assert.equal(questions.length, 0);
  });

  it("serves those that wait in their order, by as many questions as that takes", async () => {
    const { counter, questions, outcomes, take, answer } = setUp();
    take(5);
    assert.deepEqual([questions.length, counter.waiting], [1, 5]);
    await answer(2);
    assert.deepEqual(outcomes, [1, 2]);
    assert.deepEqual([questions.length, questions.at(-1)?.waiting], [2, 3]);
    await answer(3);
    assert.deepEqual(outcomes, [1, 2, 3, 4, 5]);
    assert.equal(counter.isIdle, true);
  });

  it("refuses those for whom nothing is left, and later ones without a question", async () => {
    const { counter, questions, outcomes, take, answer } = setUp();
    take(2);
    await answer(0);
    assert.deepEqual(outcomes, [REFUSED.message, REFUSED.message]);
    assert.throws(() => counter.take(0), REFUSED);
    assert.equal(questions.length, 1);
  });

  it("lets the store settle those that wait when it fails, and asks again for the next", async () => {
    const { counter, clock, questions, outcomes, take, answer } = setUp();
    take(2);
    questions[0]?.fail(new Error("away"));
    await clock.advanceAsync(0);
    assert.deepEqual(outcomes, ["away", "away"]);
    assert.equal(counter.isIdle, true);
    take(1);
    await answer(1);
    assert.equal(outcomes.at(-1), 1);
  });

  it("lets so many wait and no more", () => {
    const { counter, take } = setUp({ waitersMax: 3 });
    take(3);
    assert.throws(() => counter.take(0), { code: "overloaded" });
    assert.equal(counter.waiting, 3);
  });

  it("gives a request up whose time is over, but none of those behind it", async () => {
    const clock = createFakeClock();
    const { counter, outcomes, take, answer } = setUp({
      clock,
      startWaitTimer: (giveUp) => clock.after(100, () => giveUp(new AppError("unavailable", "too late"))),
    });
    take(1);
    await clock.advanceAsync(60);
    take(1);
    await clock.advanceAsync(40);
    assert.deepEqual([outcomes, counter.waiting], [["too late"], 1]);
    await answer(1);
    assert.deepEqual([outcomes, clock.pending], [["too late", 1], 0]);
  });
});

describe("the size of a lease", () => {
  it("doubles when the last is gone in no time, halves when it lasted, and stays in between", () => {
    const { counter } = setUp();
    assert.equal(counter.sizeAt(0), SIZES.first);
    assert.equal(counter.sizeAt(SIZES.goneMs - 1), 4);
    assert.equal(counter.sizeAt(2 * SIZES.goneMs), 4);
    assert.equal(counter.sizeAt(2 * SIZES.goneMs + SIZES.lastedMs + 1), 2);
    assert.equal(counter.sizeAt(10_000), 1);
    assert.equal(counter.sizeAt(20_000), 1, "never none");
  });

  it("is never more than may be asked for, and as large for a lease that is only old", () => {
    const { counter } = setUp();
    for (let i = 0; i < 10; i++) counter.sizeAt(i, 12);
    assert.equal(counter.sizeAt(10, 12), 12);
    assert.equal(counter.sizeAt(10_000, 12, true), 12);
    assert.equal(counter.sizeAt(10_001, 5, true), 5);
  });
});
