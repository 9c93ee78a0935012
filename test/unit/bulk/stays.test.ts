import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RowAnswer, Verified, WaitReason } from "../../../src/bulk/rows.ts";
import { createStays, sitesToStayAt } from "../../../src/bulk/stays.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { retryRowsPerSite, staysAtOnce, staySites, staysPerJob, staysPerSite, stayMs } = LIMITS.bulk;
const ANSWER: RowAnswer = { verified: {} as Verified };
const waiting = (site: string, reason: WaitReason = "busy"): RowAnswer => ({
  wait: { reason, site, retryAfterMs: null, parked: false, last: () => ({}) as Verified },
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
    const stays = createStays(createFakeClock());
    const atSite = Array.from({ length: staysPerSite }, () => stays.begin("a", ["a", "b"]));
    assert.ok(atSite.every((stay) => stay !== null));
    assert.equal(stays.begin("b", ["c", "b"]), null);
    atSite[0]?.end();
    const begin = (job: string, count: number) =>
      Array.from({ length: count }, (_, i) => stays.begin(job, [`${job}${i}`]));
    const ofJob = begin("a", staysPerJob - staysPerSite + 1);
    assert.ok(ofJob.every((stay) => stay !== null));
    assert.equal(stays.begin("a", ["d"]), null);
    assert.ok(begin("b", staysAtOnce - staysPerJob).every((stay) => stay !== null));
    assert.equal(stays.begin("c", ["d"]), null);
    ofJob[0]?.end();
    assert.notEqual(stays.begin("c", ["d"]), null);
  });

  it("have their time, and none when the worker leaves", () => {
    const clock = createFakeClock();
    const stays = createStays(clock);
    const stay = stays.begin("a", ["a"]);
    assert.equal(stay?.untilMs, clock.monotonic() + stayMs);
    stays.close();
    assert.ok((stay?.untilMs ?? 0) < clock.monotonic());
    assert.equal(stays.begin("a", ["b"]), null);
  });
});
