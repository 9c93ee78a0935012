import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RowAnswer, VerifiedRow, WaitReason } from "../../../src/bulk/row-verifier.ts";
import { createStays, sitesToStayAt } from "../../../src/bulk/stays.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { retryRowsPerSite, staysAtOnce, staySites, staysPerJob, staysPerSite } = LIMITS.bulk;
const { stayMs, stayQuietMs, stayingRows, rowsPerChunk, chunkSlackRows, rowsPerLargeChunk } = LIMITS.bulk;
const ANSWER: RowAnswer = { verified: {} as VerifiedRow };
const waiting = (site: string, reason: WaitReason = "busy"): RowAnswer => ({
  wait: { reason, site, retryAfterMs: null, parked: false, last: () => ({}) as VerifiedRow },
});
const times = (count: number, answer: RowAnswer) => Array.from({ length: count }, () => answer);

describe("rows that a chunk may stay for", () => {
  it("are those that found a known site busy, by site", () => {
    const answers = [
      ANSWER,
      ...times(retryRowsPerSite, waiting("a")),
      waiting("b"),
      waiting("c", "greylisted"),
    ];
    const sites = sitesToStayAt([...answers, waiting("")], answers.length + 1);
    const [first] = sites?.get("a") ?? [];
    assert.deepEqual([first, sites?.get("b"), sites?.size], [1, [retryRowsPerSite + 1], 2]);
  });

  it("are none where they are few, or fewer than the others of the chunk, or at many sites", () => {
    assert.equal(sitesToStayAt(times(retryRowsPerSite - 1, waiting("a")), retryRowsPerSite - 1), null);
    const half = times(retryRowsPerSite, waiting("a"));
    assert.notEqual(sitesToStayAt(half, 2 * retryRowsPerSite), null);
    assert.equal(sitesToStayAt(half, 2 * retryRowsPerSite + 1), null);
    const scattered = Array.from({ length: staySites + 1 }, (_, i) => times(2, waiting(`site${i}`))).flat();
    assert.equal(sitesToStayAt(scattered, scattered.length), null);
  });
});

describe("chunks that stay", () => {
  it("are bounded, in all, of a job and at a site; who ends makes room", () => {
    const stays = createStays(createFakeClock(), 60_000);
    const atSite = Array.from({ length: staysPerSite }, () => stays.begin("a", ["a", "b"], 1));
    assert.ok(atSite.every((stay) => stay !== null));
    assert.equal(stays.begin("b", ["c", "b"], 1), null);
    atSite[0]?.end();
    // What one of its sites left under way when another threw is over as well.
    assert.equal(atSite[0]?.untilMs, Number.NEGATIVE_INFINITY);
    const begin = (job: string, count: number) =>
      Array.from({ length: count }, (_, i) => stays.begin(job, [`${job}${i}`], 1));
    const ofJob = begin("a", staysPerJob - staysPerSite + 1);
    assert.ok(ofJob.every((stay) => stay !== null));
    assert.equal(stays.begin("a", ["d"], 1), null);
    assert.ok(begin("b", staysAtOnce - staysPerJob).every((stay) => stay !== null));
    assert.equal(stays.begin("c", ["d"], 1), null);
    ofJob[0]?.end();
    assert.notEqual(stays.begin("c", ["d"], 1), null);
  });

  it("are bounded by their rows: fewer where chunks are large", () => {
    const stays = createStays(createFakeClock(), 60_000);
    const begin = (rows: number, count: number) =>
      Array.from({ length: count }, (_, i) => stays.begin(`job${i % 3}`, [`${rows}.${i}`], rows));
    const small = begin(rowsPerChunk + chunkSlackRows, staysAtOnce);
    assert.ok(small.every((stay) => stay !== null));
    for (const stay of small) stay?.end();
    const most = Math.floor(stayingRows / rowsPerLargeChunk);
    const large = begin(rowsPerLargeChunk, most + 1);
    assert.equal(large.filter((stay) => stay !== null).length, most);
    large[0]?.end();
    assert.notEqual(stays.begin("job", ["a"], rowsPerLargeChunk), null);
  });

  it("have a moment, their time where rows are answered meanwhile, and none when the worker leaves", () => {
    const clock = createFakeClock();
    const stays = createStays(clock, 60_000);
    const nowMs = clock.monotonic();
    const stay = stays.begin("a", ["a"], 1);
    assert.equal(stay?.untilMs, nowMs + stayQuietMs);
    clock.advance(stayQuietMs / 2);
    stay?.heard();
    assert.equal(stay?.untilMs, nowMs + stayMs);
    stays.close();
    stay?.heard();
    assert.ok((stay?.untilMs ?? 0) < clock.monotonic());
    assert.equal(stays.begin("a", ["b"], 1), null);
  });

  it("stay no longer than rows may wait at all", () => {
    const clock = createFakeClock();
    const stay = createStays(clock, 1_000).begin("a", ["a"], 1);
    const untilMs = clock.monotonic() + 1_000;
    assert.equal(stay?.untilMs, untilMs);
    stay?.heard();
    assert.equal(stay?.untilMs, untilMs);
  });

  it("leave when somebody has to be alone, and may stay again", () => {
    const clock = createFakeClock();
    const stays = createStays(clock, 60_000);
    const stay = stays.begin("a", ["a"], 1);
    stays.leave();
    assert.ok((stay?.untilMs ?? 0) < clock.monotonic());
    assert.notEqual(stays.begin("a", ["b"], 1), null);
  });
});
