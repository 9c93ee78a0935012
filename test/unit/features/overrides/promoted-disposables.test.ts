import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPromotedDisposables } from "../../../../src/features/overrides/promoted-disposables.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

interface Read {
  answer(domains: string[]): Promise<void>;
  fail(): Promise<void>;
}

/** Reads wait until the test answers them. */
function setUp() {
  const clock = createFakeClock();
  const reads: Read[] = [];
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const promoted = createPromotedDisposables({
    read: () =>
      new Promise((resolve, reject) =>
        reads.push({
          answer(domains) {
            resolve(domains);
            return settled();
          },
          fail() {
            reject(new Error("down"));
            return settled();
          },
        }),
      ),
    clock,
    log: createLog("silent"),
  });
  return { clock, reads, promoted };
}

describe("the promoted domains of a process", () => {
  it("are there once it has started, and are none before", async () => {
    const { reads, promoted } = setUp();
    assert.equal(promoted.covers("a.test"), false);
    const started = promoted.start();
    await reads[0]?.answer(["a.test"]);
    await started;
    assert.deepEqual([promoted.covers("x.a.test"), promoted.covers("b.test")], [true, false]);
  });

  it("are read again after a change that came while they were read, however many came", async () => {
    const { reads, promoted } = setUp();
    promoted.reload();
    promoted.reload();
    promoted.reload();
    assert.equal(reads.length, 1);
    await reads[0]?.answer(["old.test"]);
    assert.equal(reads.length, 2);
    await reads[1]?.answer(["new.test"]);
    assert.equal(reads.length, 2);
    assert.deepEqual([promoted.covers("old.test"), promoted.covers("new.test")], [false, true]);
    promoted.reload();
    assert.equal(reads.length, 3);
  });

  it("stay as they were while they cannot be read, and are read until they can", async () => {
    const { clock, reads, promoted } = setUp();
    promoted.reload();
    await reads[0]?.answer(["a.test"]);
    promoted.reload();
    promoted.reload();
    await reads[1]?.fail();
    assert.ok(promoted.covers("a.test"));
    assert.equal(clock.pending, 1);
    clock.advance(LIMITS.overrides.rereadMs);
    await reads[2]?.fail();
    clock.advance(LIMITS.overrides.rereadMs);
    await reads[3]?.answer(["b.test"]);
    assert.deepEqual([promoted.covers("a.test"), promoted.covers("b.test")], [false, true]);
    assert.equal(clock.pending, 0);
  });

  it("fail the start of a process that cannot read them", async () => {
    const { reads, promoted } = setUp();
    const started = promoted.start();
    await Promise.all([assert.rejects(started, /down/), reads[0]?.fail()]);
  });

  it("are read no more after the stop", async () => {
    const { clock, reads, promoted } = setUp();
    promoted.reload();
    await reads[0]?.fail();
    promoted.stop();
    promoted.reload();
    clock.advance(LIMITS.overrides.rereadMs);
    assert.deepEqual([reads.length, clock.pending], [1, 0]);
  });
});
