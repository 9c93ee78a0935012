import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BenchResults,
  costsOf,
  MEASURED_COSTS,
  ROWS_AT_ONCE,
} from "../../../../scripts/capacity/costs.ts";
import { fleetFormula } from "../../../../scripts/capacity/formula.ts";
import { makePlan, type Target } from "../../../../scripts/capacity/plan.ts";
import { PRESETS } from "../../../../scripts/capacity/presets.ts";
import { parseScenario } from "../../../../scripts/capacity/scenario.ts";
import { BULK_LIMITS } from "../../../../src/config/limits/bulk.ts";
import { scenarioOf, siteOf } from "./classes.ts";

const FLEET = { processes: 1, cores: 2, sourceAddresses: 1, rowsAtOnce: ROWS_AT_ONCE };
const site = siteOf({ sites: 1, perHour: 36_000, rowsPerDomain: 1e12 });
const scenario = scenarioOf({ sites: [site], fleet: FLEET, listed: 0.2, cached: 0.3 });
const target: Target = { rowsPerDay: 86_400 * 99, peak: 2, requestsPerS: 1_000, use: 0.5 };

describe("a plan", () => {
  it("finds the fewest addresses, and leaves room", () => {
    const plan = makePlan(scenario, target);
    // 198 rows/s at the peak, half of them asked about, ten a second for an address.
    assert.equal(plan.peakPerS, 198);
    assert.equal(plan.addresses.least, 10);
    assert.equal(plan.addresses.planned, 2 * 10);
    assert.equal(plan.sites[0]?.bound, "recipients an hour");
    assert.equal(plan.bulkPods.planned, 2);
  });

  it("asks for more of everything the more rows there are, and for none where no server is asked", () => {
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
    assert.equal(plan.bulkPods.least, Math.ceil((150_000 * cached.costs.cachedUs) / 1e6));
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

  it("has presets that can be used, and places as a bulk process has them", () => {
    for (const { scenario: preset } of Object.values(PRESETS))
      assert.deepEqual(parseScenario(preset), preset);
    assert.equal(ROWS_AT_ONCE, BULK_LIMITS.chunkRowsAtOnce + BULK_LIMITS.retryRowsAtOnce);
  });
});

describe("what a row costs", () => {
  it("is what the last written bench measured, all of it", () => {
    for (const [name, value] of Object.entries(MEASURED_COSTS))
      assert.ok(Number.isFinite(value) && value >= 0, `${name}: ${value}`);
    assert.ok(MEASURED_COSTS.writeUs > 0 && MEASURED_COSTS.mainShare > 0 && MEASURED_COSTS.mainShare < 1);
  });

  it("is not made up where the bench measured less", () => {
    const title = "Probing, 20 ms a round trip";
    const lines = ["engine, depth 1", "engine, depth 10"].map((name) => ({ name, figures: { cpuUs: 10 } }));
    const probing = { section: { title, lines }, targets: [] };
    const of = (sections: BenchResults["sections"]) => () => costsOf({ sections });
    assert.throws(
      of([]),
      /no line "engine, depth 1" of "Probing, 20 ms a round trip": npm run bench -- --write/,
    );
    assert.throws(of([probing]), /has no bulk.probed.cpu/);
  });
});

describe("a list on a given deployment", () => {
  it("takes as long as what binds has it: a site, or the processes", () => {
    const ten = fleetFormula({ ...scenario, listed: 0, cached: 0, sites: [site] });
    assert.equal(ten.bound, site.name);
    assert.ok(Math.abs(ten.perS - 10) < 1e-6, `${ten.perS}`);
    const alone = fleetFormula({ ...scenario, listed: 1, cached: 0, sites: [] });
    assert.ok(Math.abs(alone.perS - 1e6 / scenario.costs.listedUs) < 1e-6, `${alone.perS}`);
    assert.equal(alone.bound, "main thread");
  });
});
