import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROBE_BUCKETS_S } from "../../../../src/config/durations.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createThreadCounts, type ThreadReport } from "../../../../src/engine/threads/thread-counts.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function counting() {
  const clock = createFakeClock();
  const sent: ThreadReport[] = [];
  const counts = createThreadCounts({
    clock,
    providers: new Set(["google"]),
    send: (report) => void sent.push(report),
  });
  return { clock, counts, sent };
}

const NOTHING: ThreadReport = {
  probes: {},
  answered: {},
  sessionsOpened: 0,
  sessionsOpen: 0,
  transactions: 0,
  writes: 0,
  groups: 0,
  lookUps: { hit: 0, answered: 0, absent: 0, failed: 0 },
  catchAllLookUps: { hit: 0, asked: 0 },
};

/** Counts of buckets, of which these have something. */
function buckets(counts: Record<number, number>): number[] {
  return Array.from({ length: PROBE_BUCKETS_S.length + 1 }, (_, i) => counts[i] ?? 0);
}

describe("the counters of a check thread", () => {
  it("go together, by provider and class, once in a while, and begin anew", () => {
    const { clock, counts, sent } = counting();
    counts.countProbe(null, "accepted");
    counts.countProbe("google", "accepted");
    counts.countProbe("google", "mailbox_not_found");
    counts.countProbe(null, "accepted");
    // A provider that is called as those without one are.
    counts.countProbe("other", "accepted");
    counts.countSession(1);
    counts.countLookUp("answered");
    counts.countLookUp("hit");
    counts.countLookUp("hit");
    counts.catchAllLookUps.asked++;
    assert.deepEqual(sent, []);
    clock.advance(LIMITS.check.countsEveryMs);
    counts.countProbe("google", "accepted");
    counts.flush();
    assert.deepEqual(sent, [
      {
        ...NOTHING,
        probes: { "other accepted": 3, "google accepted": 1, "google mailbox_not_found": 1 },
        sessionsOpened: 1,
        sessionsOpen: 1,
        lookUps: { ...NOTHING.lookUps, hit: 2, answered: 1 },
        catchAllLookUps: { hit: 0, asked: 1 },
      },
      { ...NOTHING, probes: { "google accepted": 1 }, sessionsOpen: 1 },
    ]);
  });

  it("report how many sessions are open, not how many were opened", () => {
    const { clock, counts, sent } = counting();
    for (const change of [1, 1, 1, -1] as const) counts.countSession(change);
    clock.advance(LIMITS.check.countsEveryMs);
    counts.countSession(-1);
    clock.advance(LIMITS.check.countsEveryMs);
    assert.deepEqual(
      sent.map(({ sessionsOpened, sessionsOpen }) => [sessionsOpened, sessionsOpen]),
      [
        [3, 2],
        [0, 1],
      ],
    );
  });

  it("have what was written by named providers, and all others' together", () => {
    const { counts, sent } = counting();
    const google = counts.trafficOf("google");
    const other = counts.trafficOf("example.org");
    assert.equal(counts.trafficOf("example.net"), other, "a site of a stranger is no label");
    assert.notEqual(google, other);
    google.transactions += 7;
    google.groups += 7;
    google.writes += 2;
    google.answered.observe(0.02, 6);
    other.transactions += 1;
    other.answered.observe(60);
    counts.countProbe("google", "accepted");
    counts.flush();
    counts.countProbe("google", "accepted");
    counts.flush();
    assert.deepEqual(sent[0], {
      ...NOTHING,
      probes: { "google accepted": 1 },
      ...{ transactions: 8, groups: 7, writes: 2 },
      answered: {
        google: { counts: buckets({ 2: 6 }), sum: 0.12 },
        other: { counts: buckets({ [PROBE_BUCKETS_S.length]: 1 }), sum: 60 },
      },
    });
    assert.deepEqual(sent[1], { ...NOTHING, probes: { "google accepted": 1 } });
  });

  it("send nothing while nothing happens", () => {
    const { clock, counts, sent } = counting();
    counts.flush();
    clock.advance(10 * LIMITS.check.countsEveryMs);
    assert.deepEqual([sent, clock.pending], [[], 0]);
  });
});
