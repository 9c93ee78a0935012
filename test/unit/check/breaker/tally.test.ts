import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Tally } from "../../../../src/check/breaker/tally.ts";
import { LIMITS } from "../../../../src/core/limits.ts";

const { blocksToOpen, blocksInWindow, window } = LIMITS.breaker;

function tallyOf(answers: readonly (string | null)[]): Tally {
  const tally = new Tally();
  for (const answer of answers) {
    if (answer === null) tally.pass();
    else tally.block(answer);
  }
  return tally;
}

const times = <T>(count: number, value: T) => new Array<T>(count).fill(value);

describe("when we count as blocked", () => {
  it("is after so many blocks in a row, and not one sooner", () => {
    assert.equal(tallyOf(times(blocksToOpen - 1, "a.test")).scope(false), null);
    assert.deepEqual(tallyOf(times(blocksToOpen, "a.test")).scope(false), { domain: "" });
  });

  it("is not while others are let through between, until they are as few as the blocked ones", () => {
    const one = [...times(blocksToOpen - 1, "a.test"), null];
    assert.equal(tallyOf([...one, ...times(blocksToOpen - 1, "a.test")]).scope(false), null);
    const half = times(window / 2, ["a.test", null]).flat();
    assert.equal(half.filter((answer) => answer !== null).length, blocksInWindow);
    assert.deepEqual(tallyOf(half).scope(false), { domain: "" });
    assert.equal(tallyOf(half.slice(1)).scope(false), null, "too few answers to tell a share");
    assert.equal(tallyOf([...half, null, null]).scope(false), null, "old ones are forgotten");
  });

  it("is of one domain alone where a provider's customers share the site and only this one blocks", () => {
    const ofOne = times(blocksToOpen, "a.test");
    assert.deepEqual(tallyOf(ofOne).scope(true), { domain: "a.test" });
    assert.deepEqual(tallyOf([...ofOne, "b.test"]).scope(true), { domain: "" });
    assert.deepEqual(tallyOf(times(blocksToOpen, "")).scope(true), { domain: "" }, "before RCPT");
  });

  it("knows when nothing of it is left", () => {
    const tally = tallyOf(["a.test"]);
    for (let i = 0; i < window; i++) {
      assert.equal(tally.isPristine, false);
      tally.pass();
    }
    assert.equal(tally.isPristine, true);
  });
});
