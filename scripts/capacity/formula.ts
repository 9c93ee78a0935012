import { askedShare, type Costs, type Fleet, type Scenario, type SiteClass } from "./scenario.ts";
import { sessionShape } from "./session.ts";

/** The closed form: what docs/capacity.md writes down, in the same names. All times in seconds, but where a name says otherwise. */

/** Cost of a site, and the rate that it allows. */
export interface SiteFormula {
  /** Transactions for each row: its own, its retries and catch-all probes. */
  transactionsPerRow: number;
  /** Catch-all probes for each row, 0 to 1. */
  catchAllProbesPerRow: number;
  transactionsPerSession: number;
  writesPerSession: number;
  sessionS: number;
  /** Rows a second of one source address at one site: bounded by its connections, and by the hourly limit too. */
  byConnectionsPerS: number;
  perS: number;
}

/** MAIL, RCPT and RSET. */
const LOCK_STEP_ROUND_TRIPS = 3;
/** QUIT and its answer, for which the connection still counts. */
const CLOSING_ROUND_TRIPS = 1;
/** LIMITS.smtp.idleSessionMs. */
const IDLE_S = 5;

/** One catch-all probe for a domain with this many rows, unless all of them are refused. */
export function catchAllProbesPerRow({
  refused,
  rowsPerDomain,
}: Pick<SiteClass, "refused" | "rowsPerDomain">): number {
  return (1 - refused ** rowsPerDomain) / rowsPerDomain;
}

/** Seconds that a write with `count` recipients takes at the site. */
export function writeS({ roundTripMs, answerMs, pipelining }: SiteClass, count: number): number {
  return (roundTripMs * (pipelining ? 1 : LOCK_STEP_ROUND_TRIPS) + answerMs * count) / 1_000;
}

/**
 * A session of ten thousand transactions has millions of courses, so results are cached by the class, which is never
 * mutated.
 */
const known = new WeakMap<SiteClass, SiteFormula>();

export function siteFormula(site: SiteClass): SiteFormula {
  const found = known.get(site) ?? computeSite(site);
  known.set(site, found);
  return found;
}

function computeSite(site: SiteClass): SiteFormula {
  const probes = catchAllProbesPerRow(site);
  const transactionsPerRow = 1 + site.greylisted + probes;
  const refusals = site.refused + site.greylisted + probes * (1 - site.catchAll);
  const { transactions, writes } = sessionShape(site, Math.min(1, refusals / transactionsPerRow));
  const roundTripS = site.roundTripMs / 1_000;
  const asking = writes * writeS(site, 0) + (transactions * site.answerMs) / 1_000;
  const sessionS = (site.setUpRoundTrips + CLOSING_ROUND_TRIPS) * roundTripS + asking;
  const byConnectionsPerS = (site.connections * transactions) / sessionS / transactionsPerRow;
  const byHour = site.perHour === 0 ? Number.POSITIVE_INFINITY : site.perHour / 3_600 / transactionsPerRow;
  return {
    transactionsPerRow,
    catchAllProbesPerRow: probes,
    transactionsPerSession: transactions,
    writesPerSession: writes,
    sessionS,
    byConnectionsPerS,
    perS: Math.min(byConnectionsPerS, byHour),
  };
}

/**
 * Average transactions and writes of a session at the rate at which rows arrive. With few rows for a site, a connection
 * is opened for each of them, and closed after `IDLE_S` without another.
 * @param perS rows a second of one source address at one site
 */
function visit(
  site: SiteClass,
  formula: SiteFormula,
  perS: number,
): { transactions: number; writes: number } {
  const coming = 1 + perS * formula.transactionsPerRow * IDLE_S;
  const transactions = Math.min(formula.transactionsPerSession, Math.max(coming, formula.transactionsPerRow));
  const isBusy = perS >= 0.5 * formula.byConnectionsPerS;
  const atOnce = isBusy ? formula.transactionsPerSession / formula.writesPerSession : 1;
  return { transactions, writes: Math.max(1, transactions / Math.min(atOnce, site.depth)) };
}

/** CPU of a row in microseconds of one core, and rows of a process in progress for each row a second. */
interface RowCost {
  cpuUs: number;
  mainUs: number;
  underWayS: number;
}

function askedCost(site: SiteClass, perS: number, costs: Costs): RowCost {
  const formula = siteFormula(site);
  const { transactions, writes } = visit(site, formula, perS);
  const ofSessions = formula.transactionsPerRow / transactions;
  const ofWrites = ofSessions * writes;
  // A row is put off when all connections are in use or the server defers it. Below half of the site's rate that is
  // rare.
  const putOff = perS >= 0.5 * formula.perS ? costs.putOffUs : 0;
  const cpuUs = costs.askedUs + ofWrites * costs.writeUs + ofSessions * costs.sessionUs + putOff;
  const waitingS =
    formula.transactionsPerRow * writeS(site, 1) +
    ofSessions * site.setUpRoundTrips * (site.roundTripMs / 1_000);
  return { cpuUs, mainUs: cpuUs * costs.mainShare, underWayS: waitingS };
}

/** Rate that a process reaches, and its bottleneck. */
export interface ProcessFormula {
  /** Cost of a row of the scenario's mix. */
  cpuUs: number;
  mainUs: number;
  underWayS: number;
  byCoresPerS: number;
  byPlacesPerS: number;
  perS: number;
  bound: "cores" | "main thread" | "rows at once";
}

/** @param offeredPerS rows a second of the whole deployment, by which sessions are used more or less */
export function processFormula(scenario: Scenario, offeredPerS: number): ProcessFormula {
  const { listed, cached, sites, fleet, costs } = scenario;
  const asked = askedShare(scenario);
  const total = { cpuUs: listed * costs.listedUs + cached * costs.cachedUs, underWayS: 0 };
  let mainUs = total.cpuUs;
  for (const site of sites) {
    const perS = (offeredPerS * asked * site.share) / site.sites / fleet.sourceAddresses;
    const row = askedCost(site, Math.min(perS, siteFormula(site).perS), costs);
    total.cpuUs += asked * site.share * row.cpuUs;
    mainUs += asked * site.share * row.mainUs;
    total.underWayS += asked * site.share * row.underWayS;
  }
  const byMain = 1e6 / mainUs;
  const byCores = (fleet.cores * 1e6) / total.cpuUs;
  const byPlacesPerS = fleet.rowsAtOnce / total.underWayS;
  const byCoresPerS = Math.min(byMain, byCores);
  const bound = byPlacesPerS < byCoresPerS ? "rows at once" : byMain < byCores ? "main thread" : "cores";
  return { ...total, mainUs, byCoresPerS, byPlacesPerS, perS: Math.min(byCoresPerS, byPlacesPerS), bound };
}

/** Rate that the whole deployment reaches on rows of the scenario's mix. */
export interface FleetFormula {
  perS: number;
  /** The class of sites that is the bottleneck, or the bottleneck of a process. */
  bound: string;
  /** By class: the rate of all rows at which it would be the bottleneck. */
  bySite: { name: string; perS: number }[];
  byProcessesPerS: number;
}

/** Rate of all rows, a second, at which a class of sites is full with the fleet's number of source addresses. */
export function siteBoundPerS(scenario: Scenario, site: SiteClass, fleet: Fleet = scenario.fleet): number {
  const part = askedShare(scenario) * site.share;
  if (part === 0) return Number.POSITIVE_INFINITY;
  return (siteFormula(site).perS * site.sites * fleet.sourceAddresses) / part;
}

export function fleetFormula(scenario: Scenario): FleetFormula {
  const bySite = scenario.sites.map((site) => ({ name: site.name, perS: siteBoundPerS(scenario, site) }));
  const least = bySite.reduce<{ name: string; perS: number } | null>(
    (found, one) => (found === null || one.perS < found.perS ? one : found),
    null,
  );
  const process = processFormula(scenario, least !== null && Number.isFinite(least.perS) ? least.perS : 0);
  const byProcessesPerS = process.perS * scenario.fleet.processes;
  if (least === null || byProcessesPerS < least.perS)
    return { perS: byProcessesPerS, bound: process.bound, bySite, byProcessesPerS };
  return { perS: least.perS, bound: least.name, bySite, byProcessesPerS };
}
