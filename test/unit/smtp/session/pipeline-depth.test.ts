import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { LearnedDepthLimit, PipelineDepth } from "../../../../src/smtp/session/pipeline-depth.ts";

const MAX = 10;

/** Full writes until `until`, at a server that breaks on more than `bears`. @returns the writes, 0 for one that broke */
function drive(depth: PipelineDepth, bears: number, beginMs: number, endMs: number): number[] {
  const writes: number[] = [];
  for (let now = beginMs; now < endMs; now += 1_000) {
    const written = Math.min(MAX, depth.take(now));
    if (written <= bears) depth.recordSuccess(written, MAX, now);
    else depth.recordBreak(written, false, now);
    writes.push(written <= bears ? written : 0);
  }
  return writes;
}

const breaks = (writes: number[]) => writes.filter((written) => written === 0).length;

describe("the depth of pipelines", () => {
  it("grows by one with each write that was half as large, and by none that was smaller", () => {
    const depth = new PipelineDepth(new LearnedDepthLimit());
    assert.deepEqual(drive(depth, MAX, 0, 12_000), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]);
    const other = new PipelineDepth(new LearnedDepthLimit());
    for (let i = 0; i < 5; i++) other.recordSuccess(1, MAX, 0);
    assert.equal(other.current, 3);
  });

  it("falls to one on trouble, and climbs back after the first", () => {
    const depth = new PipelineDepth(new LearnedDepthLimit());
    drive(depth, MAX, 0, 8_000);
    depth.recordBreak(9, false, 8_000);
    assert.deepEqual([depth.current, depth.expected(MAX)], [1, 1]);
    assert.deepEqual(drive(depth, MAX, 9_000, 20_000).at(-1), MAX);
    assert.equal(depth.expected(MAX), MAX);
  });

  it("stays below what broke twice, and tries it again ever more seldom", () => {
    const depth = new PipelineDepth(new LearnedDepthLimit());
    assert.equal(breaks(drive(depth, 2, 0, 20_000)), 2);
    assert.equal(depth.expected(MAX), 2);
    const day = drive(depth, 2, 20_000, 20_000 + 86_400_000);
    assert.ok(breaks(day) <= 32, `${breaks(day)} breaks in a day`);
    assert.ok(breaks(day) >= 5, "it is tried");
    const twos = day.filter((written) => written === 2).length;
    assert.ok(twos > 0.99 * day.length, "and all other writes are as full as they may be");
  });

  it("comes back within minutes at a server that was only ill", () => {
    const depth = new PipelineDepth(new LearnedDepthLimit());
    drive(depth, 2, 0, 30_000);
    assert.equal(drive(depth, MAX, 30_000, 30_000 + 5 * LIMITS.learned.holdMs).at(-1), MAX);
  });

  it("is not to blame where a limit of the session explains the break, or a single transaction broke", () => {
    const lesson = new LearnedDepthLimit();
    const depth = new PipelineDepth(lesson);
    drive(depth, MAX, 0, 5_000);
    for (let i = 0; i < 3; i++) depth.recordBreak(5, true, 5_000);
    for (let i = 0; i < 3; i++) depth.recordBreak(1, false, 5_000);
    assert.equal(lesson.limit.isKnown, false);
  });

  it("is shared, as far as it went wrong, by the hosts of a site", () => {
    const lesson = new LearnedDepthLimit();
    const [first, second] = [new PipelineDepth(lesson), new PipelineDepth(lesson)];
    drive(first, 2, 0, 20_000);
    assert.equal(breaks(drive(second, 2, 20_000, 50_000)), 0);
  });
});
