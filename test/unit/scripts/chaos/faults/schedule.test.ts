import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULTS, type Family, KINDS } from "../../../../../scripts/chaos/faults/faults.ts";
import { type PlannedFault, planFaults } from "../../../../../scripts/chaos/faults/schedule.ts";

const MINUTE_MS = 60_000;

function byFamily(faults: readonly PlannedFault[]): Map<Family, PlannedFault[]> {
  const found = new Map<Family, PlannedFault[]>();
  for (const fault of faults) {
    const { family } = FAULTS[fault.kind];
    found.set(family, [...(found.get(family) ?? []), fault]);
  }
  return found;
}

test("a seed draws the same faults each time, another seed others", () => {
  assert.deepEqual(planFaults(7, KINDS, MINUTE_MS), planFaults(7, KINDS, MINUTE_MS));
  assert.notDeepEqual(planFaults(7, KINDS, MINUTE_MS), planFaults(8, KINDS, MINUTE_MS));
});

test("every kind that was chosen comes, however short the run, and no other", () => {
  for (let seed = 0; seed < 50; seed++) {
    const kinds = new Set(planFaults(seed, KINDS, 6_000).map(({ kind }) => kind));
    assert.deepEqual([...kinds].sort(), [...KINDS].sort());
  }
  const few = planFaults(1, ["kill", "disk"], 3 * MINUTE_MS);
  assert.deepEqual([...new Set(few.map(({ kind }) => kind))].sort(), ["disk", "kill"]);
  assert.equal(few.filter(({ kind }) => kind === "kill").length, 3 * FAULTS.kill.perMinute);
});

test("faults come in order, within the run, and hold no longer than their kind may", () => {
  for (let seed = 0; seed < 50; seed++) {
    const faults = planFaults(seed, KINDS, 2 * MINUTE_MS);
    let beforeMs = 0;
    for (const { kind, atMs, holdMs } of faults) {
      assert.ok(atMs >= beforeMs && atMs + holdMs <= 2 * MINUTE_MS, `${kind} at ${atMs} for ${holdMs}`);
      assert.ok(holdMs >= 0 && holdMs <= FAULTS[kind].holdS[1] * 1_000, `${kind} holds ${holdMs}`);
      beforeMs = atMs;
    }
  }
});

test("no two of a family overlap", () => {
  for (let seed = 0; seed < 50; seed++)
    for (const [family, faults] of byFamily(planFaults(seed, KINDS, 3 * MINUTE_MS)))
      for (const [i, { atMs }] of faults.entries()) {
        const before = faults[i - 1];
        if (before) assert.ok(atMs >= before.atMs + before.holdMs, `${family}, seed ${seed}`);
      }
});
