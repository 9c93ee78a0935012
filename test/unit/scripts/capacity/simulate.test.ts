import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fleetFormula } from "../../../../scripts/capacity/formula.ts";
import type { SiteClass } from "../../../../scripts/capacity/scenario.ts";
import { type Outcome, simulate } from "../../../../scripts/capacity/simulate.ts";
import fc from "../../../support/properties.ts";
import { scenarioOf, siteOf } from "./classes.ts";

const ENDS = { forS: 1e7 };

/** Sites of any kind that a list of some thousand rows keeps busy for long enough to tell. */
const anySite: fc.Arbitrary<SiteClass> = fc
  .record({
    sites: fc.integer({ min: 1, max: 4 }),
    connections: fc.integer({ min: 1, max: 8 }),
    depth: fc.integer({ min: 1, max: 10 }),
    transactionsPerSession: fc.integer({ min: 1, max: 120 }),
    rejectionsPerSession: fc.integer({ min: 1, max: 20 }),
    pipelining: fc.boolean(),
    roundTripMs: fc.integer({ min: 1, max: 200 }),
    answerMs: fc.integer({ min: 0, max: 50 }),
    setUpRoundTrips: fc.integer({ min: 0, max: 7 }),
    refused: fc.double({ min: 0, max: 0.5, noNaN: true }),
    rowsPerDomain: fc.integer({ min: 1, max: 500 }),
    catchAll: fc.double({ min: 0, max: 1, noNaN: true }),
    perHour: fc.constantFrom(0, 0, 3_600, 36_000),
  })
  .map((own) => siteOf(own));

function conserved({ rows, answered, sites }: Outcome): void {
  assert.equal(answered, rows, "every row is answered once");
  assert.equal(
    sites.reduce((sum, site) => sum + site.answered, 0),
    rows,
  );
}

describe("a simulated list", () => {
  it("is as fast as the formula has it, whatever the sites", () => {
    fc.assert(
      fc.property(anySite, (site) => {
        const perConnection = 250;
        const rows = Math.max(2_000, perConnection * site.sites * site.connections);
        const scenario = scenarioOf({ rows, sites: [site] });
        const outcome = simulate(scenario, ENDS);
        conserved(outcome);
        const ratio = outcome.middlePerS / fleetFormula(scenario).perS;
        assert.ok(ratio > 0.88 && ratio < 1.12, `${ratio} for ${JSON.stringify(site)}`);
      }),
      { numRuns: 25, seed: 7, endOnFailure: true },
    );
  });

  it("is never slower by more source addresses, connections or depth, nor faster by a longer way", () => {
    fc.assert(
      fc.property(anySite, fc.integer({ min: 1, max: 3 }), (site, addresses) => {
        const took = (own: Partial<SiteClass>, sourceAddresses: number) => {
          const base = scenarioOf({ rows: 2_400, sites: [{ ...site, ...own }] });
          return simulate({ ...base, fleet: { ...base.fleet, sourceAddresses } }, ENDS).tookS;
        };
        // Chance falls otherwise, and the last session of a list may be a whole one: both are told from slowness.
        const notSlower = (fast: number, slow: number, what: string) =>
          assert.ok(fast <= slow * 1.1 + 5 * (site.roundTripMs / 1_000) + 1, `${what}: ${fast} s, ${slow} s`);
        const asIs = took({}, addresses);
        notSlower(took({}, 2 * addresses), asIs, "twice the addresses");
        notSlower(took({ connections: 2 * site.connections }, addresses), asIs, "twice the connections");
        notSlower(asIs, took({ roundTripMs: 2 * site.roundTripMs }, addresses), "twice the way");
      }),
      { numRuns: 10, seed: 11, endOnFailure: true },
    );
  });

  it("comes out the same with the same seed, and otherwise with another", () => {
    const outcome = (seed: number) => simulate(scenarioOf({ seed }), ENDS);
    assert.deepEqual(outcome(3), outcome(3));
    assert.notEqual(outcome(3).sessions + outcome(3).tookS, outcome(4).sessions + outcome(4).tookS);
  });

  it("answers each row once also where rows are put off, at many sites, by several processes", () => {
    const sites = [
      siteOf({ name: "near", share: 0.6, greylisted: 0.2 }),
      siteOf({ name: "far", share: 0.3, sites: 500, roundTripMs: 300, rowsPerDomain: 2 }),
      siteOf({ name: "rationed", share: 0.1, perHour: 7_200 }),
    ];
    for (const [processes, sourceAddresses] of [
      [1, 6],
      [3, 2],
      [4, 4],
    ] as const) {
      const fleet = { processes, cores: 2, sourceAddresses, rowsAtOnce: 40 };
      const outcome = simulate(scenarioOf({ sites, fleet, listed: 0.25, cached: 0.25 }), ENDS);
      assert.equal(outcome.answered, 8_000);
      assert.ok(outcome.underWayMax <= 40, `${outcome.underWayMax} rows under way`);
      assert.deepEqual(
        outcome.sites.map(({ answered }) => answered),
        [2_400, 1_200, 400],
      );
    }
  });

  it("keeps within the caps of a session: a refusal more than allowed would show in fewer connections", () => {
    const site = siteOf({ transactionsPerSession: 10, refused: 0, rowsPerDomain: 1e12 });
    const outcome = simulate(scenarioOf({ sites: [site] }), ENDS);
    assert.equal(outcome.transactions, 8_000);
    assert.ok(outcome.sessions >= 800, `${outcome.sessions} sessions of ten`);
  });

  it("is bound by CPU where nobody is asked, at the rate that the costs have", () => {
    const { costs } = scenarioOf();
    const fleet = { processes: 3, cores: 0.5, sourceAddresses: 1, rowsAtOnce: 6_144 };
    const outcome = simulate(
      scenarioOf({ rows: 200_000, listed: 0.5, cached: 0.5, sites: [], fleet, costs }),
      ENDS,
    );
    const eachUs = (costs.listedUs + costs.cachedUs) / 2;
    assert.ok(Math.abs(outcome.rowsPerS / ((3 * 0.5 * 1e6) / eachUs) - 1) < 0.02, `${outcome.rowsPerS}`);
    assert.equal(outcome.bound, "CPU of the processes");
  });

  it("lets a queue grow by what comes above what is borne, and by nothing below", () => {
    const site = siteOf({ perHour: 3_600, sites: 1, rowsPerDomain: 1e12 });
    const growth = (arrivalPerS: number) => {
      const outcome = simulate(scenarioOf({ rows: 100_000, arrivalPerS, sites: [site] }), { forS: 200 });
      return outcome.waitingEnd - outcome.waitingMiddle;
    };
    assert.ok(growth(0.9) <= 2, `${growth(0.9)} below`);
    assert.ok(Math.abs(growth(3) - 200) <= 10, `${growth(3)} above: two a second for 100 s`);
  });

  it("is refused where it would be too long", () => {
    assert.throws(() => simulate(scenarioOf({ rows: 5_000_001 }), ENDS), /are more than 5000000/);
  });
});
