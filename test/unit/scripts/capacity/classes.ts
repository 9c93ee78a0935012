import { MEASURED_COSTS } from "../../../../scripts/capacity/costs.ts";
import type { Scenario, SiteClass } from "../../../../scripts/capacity/scenario.ts";

/** A class of sites with default values, which a test may override. */
export function siteOf(own: Partial<SiteClass> = {}): SiteClass {
  return {
    ...{ name: "sites", sites: 4, share: 1, connections: 5, depth: 5, transactionsPerSession: 50 },
    ...{ rejectionsPerSession: 8, pipelining: true, roundTripMs: 50, answerMs: 5, setUpRoundTrips: 3 },
    ...{ refused: 0.1, greylisted: 0, rowsPerDomain: 100, catchAll: 0.2, perHour: 0 },
    ...own,
  };
}

/** CPU costs nothing and there are places for all, so that sites alone bind. */
export function scenarioOf(own: Partial<Scenario> = {}): Scenario {
  return {
    ...{ rows: 8_000, listed: 0, cached: 0, sites: [siteOf()] },
    fleet: { processes: 1, cores: 1_000, sourceAddresses: 1, rowsAtOnce: 1_000_000 },
    costs: { ...MEASURED_COSTS, mainShare: 0 },
    ...own,
  };
}
