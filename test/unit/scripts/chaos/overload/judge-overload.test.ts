import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Burst, TeamCounts } from "../../../../../scripts/chaos/overload/flood.ts";
import { judgeOverload } from "../../../../../scripts/chaos/overload/judge-overload.ts";
import type { Overload } from "../../../../../scripts/chaos/overload/overload.ts";
import { exitCodeOf, type Finding } from "../../../../../scripts/chaos/verdict/closing.ts";

function counts(accepted: number, refused: number, p99Ms = 100): TeamCounts {
  const latencies = (count: number) => ({ count, p50Ms: 1, p99Ms });
  return {
    counts: { 200: accepted, "503 overloaded": refused },
    accepted: latencies(accepted),
    refused: latencies(refused),
    sustained: latencies(accepted),
  };
}

/** Teams that ask for too much. */
const CROWD = { flood: counts(3_000, 40_000), second: counts(900, 6_000) };

function burst(all: TeamCounts, more: Partial<Burst> = {}): Burst {
  const { accepted } = all;
  const latencies = { onset: accepted, sustained: accepted };
  return { teams: { ...CROWD, small: counts(100, 0) }, all, ...latencies, lateP99Ms: 5, tookS: 5, ...more };
}

const RESOURCES = { rssMb: 100, descriptors: 50, threads: 10 };
const CALM = burst(counts(80, 0, 10));

function findingsOf(more: Partial<Overload>): Finding[] {
  return judgeOverload({
    ...{
      calm: CALM,
      closed: CALM,
      after: CALM,
      capacityPerS: 1_000,
      capacityBusy: 0.97,
      perS: 10_000,
      crashed: false,
    },
    ...{ flood: burst(counts(4_000, 46_000)), limited: burst(counts(2_000, 28_000)) },
    ...{ before: RESOURCES, peak: RESOURCES, final: RESOURCES, floodCpuMs: 900, limitedCpuMs: 500 },
    ...more,
  });
}

function missed(more: Partial<Overload>): string[] {
  return findingsOf(more)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name.trim());
}

describe("the judgement of an overload", () => {
  it("holds an early refusal and quick answers for right", () => assert.deepEqual(missed({}), []));

  it("misses late answers, few answers, no refusals and a small team that is refused", () => {
    assert.deepEqual(missed({ flood: burst(counts(4_000, 46_000, 501)) }), [
      "no rate limit: accepted, p99",
      "no rate limit: refused, p99",
    ]);
    // A fiftieth of the capacity for four seconds is 80, without the small team and the first second.
    const crowd = (flood: number, second: number) => ({
      flood: burst(counts(4_000, 46_000), {
        teams: { flood: counts(flood, 40_000), second: counts(second, 6_000), small: counts(400, 0) },
      }),
    });
    assert.deepEqual(missed(crowd(79, 1)), []);
    assert.deepEqual(missed(crowd(78, 1)), ["no rate limit: accepted"]);
    assert.deepEqual(missed(crowd(80, 0)), ["no rate limit: accepted"]);
    // At four times the capacity a quarter of the capacity is required: 1,000 in four seconds.
    assert.deepEqual(missed({ ...crowd(600, 400), perS: 4_000 }), []);
    assert.deepEqual(missed({ ...crowd(600, 399), perS: 4_000 }), ["no rate limit: accepted"]);
    assert.deepEqual(missed({ limited: burst(counts(79, 29_000)) }), ["rate limit: accepted"]);
    const onset = { ...counts(100, 0, 1_001).accepted };
    assert.deepEqual(missed({ flood: burst(counts(4_000, 46_000), { onset }) }), [
      "no rate limit: accepted in the first second, p99",
    ]);
    const none = missed({ flood: burst(counts(50_000, 0)) });
    assert.deepEqual(none, ["no rate limit: refused, p99", "not one refused"]);
    const small = { teams: { ...CROWD, small: counts(50, 50) } };
    assert.deepEqual(missed({ flood: burst(counts(4_000, 46_000), small) }), [
      "a small team beside it: refused",
    ]);
  });

  it("misses a burst of which more than a hundredth is undecided, whatever the others are", () => {
    const late = (undecided: number) => ({
      flood: burst({
        ...counts(4_000, 46_000),
        counts: { 200: 4_000 - undecided, "200 deadline": undecided },
      }),
    });
    assert.deepEqual(missed(late(40)), []);
    assert.deepEqual(missed(late(41)), ["200, but undecided, at most"]);
  });

  it("neither holds nor misses what a burst measured that was late, or did not send all", () => {
    const slow = counts(100, 100, 9_000);
    assert.deepEqual(missed({ flood: burst(slow, { lateP99Ms: 101 }) }), []);
    const strange = { ...slow, counts: { "500 internal_error": 1 } };
    assert.deepEqual(missed({ flood: burst(strange, { lateP99Ms: 101 }) }), ["neither 200 nor 429 nor 503"]);
    // If the process was not busy, its capacity is unknown.
    assert.deepEqual(missed({ flood: burst(slow), limited: burst(slow), capacityBusy: 0.84 }), []);
  });

  it("does not pass for having judged what is void", () => {
    assert.equal(exitCodeOf(findingsOf({})), 0);
    const late = burst(counts(4_000, 46_000), { lateP99Ms: 101 });
    assert.equal(exitCodeOf(findingsOf({ flood: late })), 2);
    assert.equal(exitCodeOf(findingsOf({ flood: late, crashed: true })), 1);
    assert.equal(exitCodeOf(findingsOf({ capacityBusy: 0.84 })), 2);
  });

  it("misses what is not as it was, whatever was sent", () => {
    assert.deepEqual(missed({ crashed: true }), ["crashes"]);
    assert.deepEqual(missed({ after: burst(counts(70, 10, 600)) }), [
      "afterwards, p99",
      "refused without overload",
    ]);
    assert.deepEqual(missed({ peak: { ...RESOURCES, rssMb: 501 } }), ["memory, descriptors"]);
  });

  it("has no bound that nothing misses", () => {
    const flood = burst(counts(4_000, 46_000));
    const limited = (accepted: number, refused: number, p99Ms = 100) => ({
      limited: burst(counts(accepted, refused, p99Ms)),
    });
    const changes: Partial<Overload>[] = [
      { flood: burst(counts(4_000, 46_000, 501)) },
      {
        flood: burst(counts(4_000, 46_000), {
          teams: { ...CROWD, flood: counts(0, 40_000), second: counts(0, 6_000) },
        }),
      },
      { closed: burst({ ...counts(4_000, 0), counts: { "200 deadline": 4_000 } }) },
      { flood: burst(counts(4_000, 46_000, 1_001)), limited: burst(counts(2_000, 28_000, 1_001)) },
      { flood: burst(counts(50_000, 0)) },
      { flood: burst(counts(4_000, 46_000), { teams: { ...CROWD, small: counts(0, 0) } }) },
      { flood: burst({ ...flood.all, counts: { "500 internal_error": 1 } }) },
      limited(2_000, 28_000, 501),
      limited(0, 30_000),
      limited(30_000, 0),
      { after: burst(counts(0, 0, 0)) },
      { after: burst(counts(79, 1)) },
      { final: { ...RESOURCES, descriptors: 101 } },
      { crashed: true },
    ];
    const shown = new Set(changes.flatMap(missed));
    const bounded = findingsOf({}).filter(({ bound }) => bound !== null);
    assert.deepEqual([...shown].sort(), bounded.map(({ name }) => name.trim()).sort());
    for (const change of changes) assert.ok(missed(change).length > 0, JSON.stringify(change));
  });
});
