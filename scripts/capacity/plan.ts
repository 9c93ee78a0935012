import { processFormula, siteFormula } from "./formula.ts";
import { askedShare, SCENARIO_LIMITS, type Scenario, type SiteClass } from "./scenario.ts";
import { isBorne, processSlice, siteSlice } from "./slices.ts";
import { type StoreLoad, storeLoad } from "./stores.ts";

/** What a deployment must bear. */
export interface Target {
  rowsPerDay: number;
  /** The busiest hour over the mean one. */
  peak: number;
  /** Requests a second to the API in the busiest hour. */
  requestsPerS: number;
  /** Of each bound, what is planned to be used, 0 to 1: the rest is for what fails, is deployed, or comes in a burst. */
  use: number;
}

export interface SitePlan {
  name: string;
  /** Rows a second of the whole class at the peak. */
  perS: number;
  /** Rows a second that one source address has borne by one site of it. */
  bearsPerS: number;
  addresses: number;
  bound: "connections" | "recipients an hour";
}

export interface Plan {
  peakPerS: number;
  /** By the formula, for each class. */
  sites: SitePlan[];
  /** Fewest with which no queue grew in the simulation, at the peak; and what is planned: the larger of both, over `use`. */
  addresses: { formula: number; least: number; planned: number; boundBy: string };
  bulkPods: { formula: number; least: number; planned: number; boundBy: string };
  apiPods: number;
  relayPods: number;
  /** Of a bulk process. */
  cpuUs: number;
  underWayS: number;
  stores: StoreLoad;
}

/** No role has fewer: one may be deployed, or die. */
const PODS_MIN = 2;
/** Beside what was calculated, the search looks so far. */
const SEARCH = { below: 0.7, above: 1.5 } as const;

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

/**
 * The smallest number for which `borne` holds, which then holds for all larger ones.
 * @returns null when it does not hold for `most` either
 */
export function smallest(least: number, most: number, borne: (count: number) => boolean): number | null {
  if (!borne(most)) return null;
  let [low, high] = [least - 1, most];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (borne(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Around what the formula says, by simulation. @throws Error where the two are too far apart to be believed */
function search(what: string, formula: number, borne: (count: number) => boolean): number {
  const from = Math.max(1, Math.floor(formula * SEARCH.below));
  const to = Math.max(formula + 2, Math.ceil(formula * SEARCH.above));
  const found = smallest(from, to, borne);
  if (found === null)
    throw new Error(`${to} ${what} are not enough in the simulation, ${formula} by the formula`);
  return found;
}

function planProcesses(scenario: Scenario, peakPerS: number) {
  let process = processFormula(scenario, peakPerS);
  const formula = Math.max(1, Math.ceil(peakPerS / process.perS));
  const borne = (processes: number) => isBorne(processSlice(withProcesses(scenario, processes), peakPerS));
  const least = search("bulk processes", formula, borne);
  process = processFormula(withProcesses(scenario, least), peakPerS);
  return { formula, least, process };
}

function withProcesses(scenario: Scenario, processes: number): Scenario {
  return { ...scenario, fleet: { ...scenario.fleet, processes } };
}

function withAddresses(scenario: Scenario, sourceAddresses: number): Scenario {
  return { ...scenario, fleet: { ...scenario.fleet, sourceAddresses } };
}

/**
 * The fewest source addresses and bulk processes that bear the peak: searched by simulation around what the formula says, and
 * the larger of both divided by `use`. Of the scenario its mix, sites, costs and what a process is are taken.
 * @throws Error when the target, or what it leads to, is out of bounds
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
  const byFormula = most?.addresses ?? 1;
  if (byFormula > SCENARIO_LIMITS.addresses)
    throw new Error(
      `${byFormula} source addresses would be needed for ${most?.name}: more than ${SCENARIO_LIMITS.addresses}`,
    );
  const borne = (addresses: number) => isBorne(siteSlice(withAddresses(scenario, addresses), peakPerS));
  const least = most === null ? 1 : search("source addresses", byFormula, borne);
  const planned = Math.ceil(Math.max(least, byFormula) / use);
  const bulk = planProcesses(withAddresses(scenario, planned), peakPerS);
  const pods = (count: number) => Math.max(PODS_MIN, Math.ceil(count));
  return {
    peakPerS,
    sites,
    addresses: { formula: byFormula, least, planned, boundBy: most?.name ?? "nothing" },
    bulkPods: {
      formula: bulk.formula,
      least: bulk.least,
      planned: pods(Math.max(bulk.least, bulk.formula) / use),
      boundBy: bulk.process.bound,
    },
    apiPods: pods((requestsPerS * scenario.costs.requestUs) / 1e6 / use),
    relayPods: PODS_MIN,
    cpuUs: bulk.process.cpuUs,
    underWayS: bulk.process.underWayS,
    stores: storeLoad(scenario, peakPerS),
  };
}
