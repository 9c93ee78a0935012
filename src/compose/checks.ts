import type { BeliefAuthority } from "../check/belief/authority.ts";
import type { Board } from "../check/board.ts";
import type { BreakerAuthority } from "../check/breaker/authority.ts";
import { createBroker } from "../check/broker.ts";
import { createCatchAllFacts } from "../check/catch-all.ts";
import { createEgressSlots, type EgressSlots } from "../check/egress-slots.ts";
import type { SharedLists } from "../check/lists/lists.ts";
import { createNetworkHealth, type NetworkHealth } from "../check/network-health.ts";
import { type CheckPool, createCheckPool } from "../check/pool.ts";
import { createSiteDirectory, providerNames, type SiteDirectory } from "../check/site.ts";
import { createSiteCaps } from "../check/site-caps.ts";
import { roomOf } from "../check/site-lines.ts";
import type { ThreadReport } from "../check/thread-counts.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import { type Metrics, observeEngine } from "../core/metrics.ts";
import { takesConnection } from "../smtp/dial.ts";
import type { Paths } from "../smtp/path.ts";
import { createCatchAllStore } from "../store/evidence-cache.ts";
import { createHouseShare } from "../store/house-reports.ts";
import type { RedisClients } from "../store/redis.ts";
import { createSlotLeases } from "../store/slot-leases.ts";
import { composeBeliefs, teachingFacts } from "./beliefs.ts";
import { composeBreakers } from "./breakers.ts";
import { composeHouse, type House } from "./house.ts";
import { composePreflight, type Preflight } from "./preflight.ts";
import { type BegunThreads, beginThreads } from "./threads.ts";

export interface Checks {
  pool: CheckPool;
  lists: SharedLists;
  slots: EgressSlots;
  network: NetworkHealth;
  house: House;
  /** With the providers that the operator adds. */
  sites: SiteDirectory;
  /** Rows that keep a site of this name busy: see `roomOf`. */
  roomAt(site: string): number;
  breakers: BreakerAuthority;
  beliefs: BeliefAuthority;
}

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
  /** Begun before the rest was loaded; absent: they are begun now. */
  begun?: BegunThreads;
  /** Calls rows that wait for the site, which lets us in again; how many. Absent: there are none here. */
  release?: (site: string) => Promise<number>;
}

/**
 * The check engine of a process: threads, what they share, and what they ask of the main thread.
 * @throws ConfigError for a wrong entry of SHAPING
 */
export function composeChecks(deps: Deps): Checks {
  const { config, log, metrics, redis } = deps;
  const clock = systemClock;
  const { threads, lists, board, own, shaping, paths } = deps.begun ?? beginThreads(config, log);
  const leases = createSlotLeases(redis, config.smtp.egressId, log);
  const caps = createSiteCaps({
    clock,
    onReduced: (site, open, cap) =>
      log.info({ site, open, cap }, "a site has no room for so many connections: it gets fewer for a while"),
  });
  const slots = createEgressSlots({ leases, caps, clock, log });
  const preflight = composePreflight(config, own, clock);
  const network = watchNetwork(board, paths, preflight, deps);
  const breakers = composeBreakers(deps);
  const providers = providerNames(shaping.mx);
  const beliefs = composeBeliefs({ ...deps, providers });
  const broker = createBroker({
    clock,
    slots,
    onCrowded: (site) => slots.crowded(site),
    facts: teachingFacts(createCatchAllFacts(clock, createCatchAllStore(redis.commands, clock)), beliefs),
    beliefs,
    health: network,
    breakers,
    onCounts: (report) => countEngine(metrics, report),
  });
  const share = createHouseShare(redis, config.smtp.egressId, preflight.settings);
  const house = composeHouse({ config, log, metrics, preflight, share, network, broker });
  const pool = createCheckPool({ threads, board, broker });
  observeEngine(metrics, () => {
    const { held, waiting } = slots.stats();
    const breakersOpen = breakers.openByProvider();
    const load = { checksInFlight: pool.inFlight, slotsHeld: held, slotWaiters: waiting };
    return { ...load, breakersOpen, sitesReduced: caps.reduced, sessionsOpen: broker.sessionsOpen() };
  });
  const sites = createSiteDirectory(shaping.mx);
  const roomAt = (site: string) =>
    roomOf(shaping.policyFor(providers.has(site) ? site : null, site), paths.capsOf(site));
  return { lists, pool, slots, network, house, breakers, beliefs, sites, roomAt };
}

/** What a check thread has counted. */
function countEngine(metrics: Metrics, report: ThreadReport): void {
  metrics.sessionsOpened.inc(report.sessionsOpened);
  metrics.transactions.inc(report.transactions);
  metrics.pipelineWrites.inc(report.writes);
  metrics.pipelineGroups.inc(report.groups);
  for (const [key, count] of Object.entries(report.probes)) {
    const [provider = "", outcome = ""] = key.split(" ");
    metrics.probes.inc({ provider, outcome }, count);
    if (outcome === "greylisted") metrics.greylistings.inc({ provider }, count);
  }
  for (const [provider, answered] of Object.entries(report.answered))
    metrics.probeSeconds.of(provider).add(answered);
  for (const [result, count] of Object.entries(report.lookUps))
    if (count > 0) metrics.dnsLookups.inc({ result }, count);
  for (const [result, count] of Object.entries(report.strangers))
    if (count > 0) metrics.catchAllLookups.inc({ result }, count);
}

function watchNetwork(
  board: Board,
  paths: Paths,
  preflight: Preflight,
  { config, log, metrics }: Pick<Deps, "config" | "log" | "metrics">,
) {
  const names = paths.all.map(({ name }) => name);
  return createNetworkHealth({
    clock: systemClock,
    board,
    ways: names,
    inUse: preflight.ways.map(({ name }) => name),
    dial: (trial, withinMs) => takesConnection(trial, config.smtp, paths, withinMs),
    onChange(way, down, all) {
      metrics.networkDown.set(all ? 1 : 0);
      metrics.wayDown.set({ way }, down ? 1 : 0);
      if (down)
        log.error({ way }, "no mail server can be reached by this way out: is outbound port 25 open?");
      else log.info({ way }, "mail servers can be reached again by this way out");
    },
  });
}
