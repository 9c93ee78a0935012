import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { BlockTally } from "../../../../src/egress/breaker/block-tally.ts";

const { blocksToOpen, blocksInWindow, window, answersKeptMs, domainsOfProvider } = LIMITS.breaker;

/** One answer each `everyMs`, the last one now. */
function tallyOf(answers: readonly (string | null)[], everyMs = 0) {
  const tally = new BlockTally();
  for (const [i, answer] of answers.entries()) {
    if (answer === null) tally.pass(i * everyMs);
    else tally.block(answer, i * everyMs);
  }
  const nowMs = (answers.length - 1) * everyMs;
  return {
    tally,
    isBlocked: tally.isBlocked(nowMs),
    site: tally.isSiteBlocked(false, nowMs),
    provider: tally.isSiteBlocked(true, nowMs),
  };
}

const times = <T>(count: number, value: T) => new Array<T>(count).fill(value);
const domains = (count: number) => Array.from({ length: count }, (_, i) => `${i}.test`);

describe("when we count as blocked", () => {
  it("is after so many blocks in a row, and not one sooner", () => {
    assert.equal(tallyOf(times(blocksToOpen - 1, "")).isBlocked, false);
    assert.equal(tallyOf(times(blocksToOpen, "")).isBlocked, true);
  });

  it("is not while others are let through between, until they are as few as the blocked ones", () => {
    const one = [...times(blocksToOpen - 1, ""), null];
    assert.equal(tallyOf([...one, ...times(blocksToOpen - 1, "")]).site, false);
    const half = times(window / 2, ["", null]).flat();
    assert.equal(half.filter((answer) => answer !== null).length, blocksInWindow);
    assert.deepEqual([tallyOf(half).site, tallyOf(half).provider], [true, true]);
    assert.equal(tallyOf(half.slice(1)).site, false, "too few answers to tell a share");
    assert.equal(tallyOf([...half, null, null]).site, false, "old ones are forgotten");
  });

  it("is not for blocks that are long ago", () => {
    assert.equal(tallyOf(times(blocksToOpen, ""), answersKeptMs / blocksToOpen).site, true);
    assert.equal(tallyOf(times(blocksToOpen, ""), answersKeptMs / (blocksToOpen - 1)).site, false);
    assert.equal(tallyOf(domains(domainsOfProvider), answersKeptMs / 2).provider, false);
  });

  it("is the whole site before anybody was named, at a provider too", () => {
    const { site, provider } = tallyOf(times(blocksToOpen, ""));
    assert.deepEqual([site, provider], [true, true]);
  });

  it("is the whole site for blocks of several domains, never for those of one", () => {
    const one = times(blocksToOpen, "a.test");
    assert.deepEqual([tallyOf(one).site, tallyOf(times(window, "a.test")).site], [false, false]);
    assert.equal(tallyOf([...one, "b.test"]).site, true);
  });

  it("is a provider only when as many domains block us as one customer hardly has", () => {
    const few = domains(domainsOfProvider - 1);
    assert.equal(tallyOf(times(window, few).flat()).provider, false, "however often they do");
    assert.equal(
      tallyOf([...few, ...few, ...times(blocksToOpen - 1, "")]).provider,
      false,
      "nor with others",
    );
    assert.equal(tallyOf(domains(domainsOfProvider)).provider, true);
    assert.equal(tallyOf([...few, null, "another.test"]).provider, false, "somebody was let through");
  });

  it("knows when nothing of it is left", () => {
    const { tally } = tallyOf(["a.test"]);
    for (let i = 0; i < window; i++) {
      assert.equal(tally.hasNoBlocks, false);
      tally.pass(0);
    }
    assert.equal(tally.hasNoBlocks, true);
  });
});
