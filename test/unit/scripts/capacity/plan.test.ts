import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ROWS_AT_ONCE } from "../../../../scripts/capacity/costs.ts";
import { makePlan, smallest, type Target } from "../../../../scripts/capacity/plan.ts";
import { PRESETS } from "../../../../scripts/capacity/presets.ts";
import { parseScenario } from "../../../../scripts/capacity/scenario.ts";
import { isBorne, siteSlice } from "../../../../scripts/capacity/slices.ts";
import { BULK_LIMITS } from "../../../../src/core/limits-bulk.ts";
import { scenarioOf, siteOf } from "./classes.ts";

const FLEET = { processes: 1, cores: 2, sourceAddresses: 1, rowsAtOnce: ROWS_AT_ONCE };
const site = siteOf({ sites: 1, perHour: 36_000, rowsPerDomain: 1e12 });
const scenario = scenarioOf({ sites: [site], fleet: FLEET, listed: 0.2, cached: 0.3 });
const target: Target = { rowsPerDay: 86_400 * 99, peak: 2, requestsPerS: 1_000, use: 0.5 };

describe("a plan", () => {
  it("finds the fewest addresses, as the formula has them, and leaves room", () => {
    const plan = makePlan(scenario, target);
    // 198 rows/s at the peak, half of them asked about, ten a second for an address.
    assert.equal(plan.peakPerS, 198);
    assert.equal(plan.addresses.formula, 10);
    assert.ok([9, 10].includes(plan.addresses.least), `${plan.addresses.least}`);
    assert.equal(plan.addresses.planned, 2 * 10);
    assert.equal(plan.sites[0]?.bound, "recipients an hour");
    assert.equal(plan.bulkPods.planned, 2);
  });

  it("asks for more of everything the more rows there are, and for none where nobody is asked", () => {
    let last = { addresses: 0, pods: 0, entries: 0 };
    for (const rowsPerDay of [1e6, 1e7, 1e8]) {
      const plan = makePlan(scenario, { ...target, rowsPerDay });
      const now = {
        addresses: plan.addresses.planned,
        pods: plan.bulkPods.planned,
        entries: plan.stores.redisEntriesPerS,
      };
      assert.ok(now.addresses > last.addresses && now.pods >= last.pods && now.entries > last.entries);
      last = now;
    }
    const alone = makePlan({ ...scenario, listed: 0.5, cached: 0.5 }, target);
    assert.equal(alone.addresses.least, 1);
    assert.equal(alone.stores.dnsQuestionsPerS, 0);
  });

  it("takes as many processes as CPU or places ask for", () => {
    const many = { ...target, rowsPerDay: 86_400 * 150_000, peak: 1, use: 1 };
    const cached = { ...scenario, listed: 0, cached: 1, sites: [] };
    const plan = makePlan(cached, many);
    assert.equal(plan.bulkPods.formula, Math.ceil((150_000 * cached.costs.cachedUs) / 1e6));
    assert.ok(Math.abs(plan.bulkPods.least - plan.bulkPods.formula) <= 1, `${plan.bulkPods.least}`);
    const few = { ...scenario, fleet: { ...FLEET, rowsAtOnce: 2 } };
    const held = makePlan(few, { ...target, rowsPerDay: 86_400 * 100, peak: 1 });
    assert.equal(held.bulkPods.boundBy, "rows at once");
    assert.ok(held.bulkPods.least > 1);
  });

  it("says what is wrong with a target", () => {
    assert.throws(() => makePlan(scenario, { ...target, rowsPerDay: 0 }), /rows a day must be from 1/);
    assert.throws(() => makePlan(scenario, { ...target, peak: 0.5 }), /the peak must be from 1 to 100/);
    assert.throws(() => makePlan(scenario, { ...target, use: 0 }), /use must be from 0.1 to 1/);
    assert.throws(
      () => makePlan(scenario, { ...target, rowsPerDay: 1e11, peak: 100 }),
      /source addresses would be needed/,
    );
  });

  it("tells a slice that bears its part from one that does not", () => {
    const of = (sourceAddresses: number) =>
      siteSlice({ ...scenario, fleet: { ...FLEET, sourceAddresses } }, 200);
    assert.equal(isBorne(of(11)), true);
    assert.equal(isBorne(of(8)), false);
  });

  it("has presets that can be used, and places as a bulk process has them", () => {
    for (const { scenario: preset } of Object.values(PRESETS))
      assert.deepEqual(parseScenario(preset), preset);
    assert.equal(ROWS_AT_ONCE, BULK_LIMITS.chunkRowsAtOnce + BULK_LIMITS.retryRowsAtOnce);
  });
});

describe("the search", () => {
  it("finds the smallest for which it holds", () => {
    for (const edge of [1, 2, 17, 99, 100])
      assert.equal(
        smallest(1, 100, (count) => count >= edge),
        edge,
      );
    assert.equal(
      smallest(1, 100, () => false),
      null,
    );
  });
});
