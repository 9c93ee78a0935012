import { processFormula, siteFormula } from "./formula.ts";
import { askedShare, SCENARIO_LIMITS, type Scenario, type SiteClass } from "./scenario.ts";
import { type StoreLoad, storeLoad } from "./stores.ts";

/** The load that a deployment must handle. */
export interface Target {
  rowsPerDay: number;
  /** The busiest hour over the mean one. */
  peak: number;
  /** Requests a second to the API in the busiest hour. */
  requestsPerS: number;
  /** Planned use of each bound, 0 to 1. The rest is reserve for failures, deployments and bursts. */
  use: number;
}

export interface SitePlan {
  name: string;
  /** Rows a second of the whole class at the peak. */
  perS: number;
  /** Rows a second that one site of the class accepts from one source address. */
  bearsPerS: number;
  addresses: number;
  bound: "connections" | "recipients an hour";
}

export interface Plan {
  peakPerS: number;
  sites: SitePlan[];
  /** Source addresses. `least`: enough for the peak; `planned`: `least` divided by the target utilisation `use`. */
  addresses: { least: number; planned: number; boundBy: string };
  bulkPods: { least: number; planned: number; boundBy: string };
  apiPods: number;
  relayPods: number;
  /** Cost of a row in a bulk process. */
  cpuUs: number;
  underWayS: number;
  stores: StoreLoad;
}

/** No role has fewer: one may be deployed, or die. */
const PODS_MIN = 2;
/** @throws Error when the target is out of bounds */
function requireTarget({ rowsPerDay, peak, requestsPerS, use }: Target): void {
  const wrong = (what: string) => {
    throw new Error(what);
  };
  const { rows } = SCENARIO_LIMITS;
  if (!(rowsPerDay >= 1 && rowsPerDay <= rows)) wrong(`rows a day must be from 1 to ${rows}`);
  if (!(peak >= 1 && peak <= 100)) wrong("the peak must be from 1 to 100 times the mean");
  if (!(requestsPerS >= 0 && requestsPerS <= SCENARIO_LIMITS.perS))
    wrong(`requests a second must be from 0 to ${SCENARIO_LIMITS.perS}`);
  if (!(use >= 0.1 && use <= 1)) wrong("use must be from 0.1 to 1");
}

function planSite(scenario: Scenario, site: SiteClass, peakPerS: number): SitePlan {
  const formula = siteFormula(site);
  const perS = peakPerS * askedShare(scenario) * site.share;
  return {
    name: site.name,
    perS,
    bearsPerS: formula.perS,
    addresses: Math.max(1, Math.ceil(perS / (site.sites * formula.perS))),
    bound: formula.perS < formula.byConnectionsPerS ? "recipients an hour" : "connections",
  };
}

function withAddresses(scenario: Scenario, sourceAddresses: number): Scenario {
  return { ...scenario, fleet: { ...scenario.fleet, sourceAddresses } };
}

/**
 * The least numbers of source addresses and bulk processes for the peak, and these divided by `use`. From the scenario it
 * takes the mix of rows, the sites, the costs and the size of a process.
 * @throws Error when the target, or a result, is out of bounds
 */
export function makePlan(scenario: Scenario, target: Target): Plan {
  requireTarget(target);
  const { rowsPerDay, peak, requestsPerS, use } = target;
  const peakPerS = (rowsPerDay / 86_400) * peak;
  const sites =
    askedShare(scenario) > 0 ? scenario.sites.map((site) => planSite(scenario, site, peakPerS)) : [];
  const most = sites.reduce<SitePlan | null>(
    (found, one) => (found && found.addresses >= one.addresses ? found : one),
    null,
  );
  const least = most?.addresses ?? 1;
  if (least > SCENARIO_LIMITS.addresses)
    throw new Error(
      `${least} source addresses would be needed for ${most?.name}: more than ${SCENARIO_LIMITS.addresses}`,
    );
  const planned = Math.ceil(least / use);
  const process = processFormula(withAddresses(scenario, planned), peakPerS);
  const processes = Math.max(1, Math.ceil(peakPerS / process.perS));
  const pods = (count: number) => Math.max(PODS_MIN, Math.ceil(count));
  return {
    peakPerS,
    sites,
    addresses: { least, planned, boundBy: most?.name ?? "nothing" },
    bulkPods: {
      least: processes,
      planned: pods(processes / use),
      boundBy: process.bound,
    },
    apiPods: pods((requestsPerS * scenario.costs.requestUs) / 1e6 / use),
    relayPods: PODS_MIN,
    cpuUs: process.cpuUs,
    underWayS: process.underWayS,
    stores: storeLoad(scenario, peakPerS),
  };
}
