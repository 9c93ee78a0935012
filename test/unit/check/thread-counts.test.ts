import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createThreadCounts } from "../../../src/check/thread-counts.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function counting() {
  const clock = createFakeClock();
  const sent: [Record<string, number>, number][] = [];
  const counts = createThreadCounts(clock, (probes, sessions) => void sent.push([probes, sessions]));
  return { clock, counts, sent };
}

describe("the counters of a check thread", () => {
  it("go together, by provider and class, once in a while, and begin anew", () => {
    const { clock, counts, sent } = counting();
    counts.probe(null, "accepted");
    counts.probe("google", "accepted");
    counts.probe("google", "mailbox_not_found");
    counts.probe(null, "accepted");
    // A provider that is called as those without one are.
    counts.probe("other", "accepted");
    counts.session();
    assert.deepEqual(sent, []);
    clock.advance(LIMITS.check.countsEveryMs);
    counts.probe("google", "accepted");
    counts.flush();
    assert.deepEqual(sent, [
      [{ "other accepted": 3, "google accepted": 1, "google mailbox_not_found": 1 }, 1],
      [{ "google accepted": 1 }, 0],
    ]);
  });

  it("send nothing while nothing happens", () => {
    const { clock, counts, sent } = counting();
    counts.flush();
    clock.advance(10 * LIMITS.check.countsEveryMs);
    assert.deepEqual([sent, clock.pending], [[], 0]);
  });
});
