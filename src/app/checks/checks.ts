import type { ChecksConfig } from "../../config/config.ts";
import type { BreakerAuthority } from "../../egress/breaker/authority.ts";
import { createEgressSlots, type EgressSlots } from "../../egress/egress-slots.ts";
import { createNetworkHealth, type NetworkHealth } from "../../egress/network-health.ts";
import { createSelfCheckShare } from "../../egress/self-check/self-check-reports.ts";
import type { SharedBoard } from "../../egress/shared-board.ts";
import { createSiteCaps, type SiteCaps } from "../../egress/site-caps.ts";
import { queueCapacityOf } from "../../egress/site-queues.ts";
import { createSlotLeases } from "../../egress/slot-lease-store.ts";
import type { BehaviourAuthority } from "../../engine/learned-behaviour/authority.ts";
import { createBroker } from "../../engine/threads/broker.ts";
import { CheckBatches } from "../../engine/threads/check-batches.ts";
import { type CheckPool, createCheckPool } from "../../engine/threads/pool.ts";
import type { ThreadReport } from "../../engine/threads/thread-counts.ts";
import { createCatchAllStore } from "../../features/verify/cache/catch-all-store.ts";
import type { Logger } from "../../platform/log.ts";
import { type Metrics, observeEngine } from "../../platform/telemetry/metrics.ts";
import { processMonotonicMs, systemClock } from "../../platform/time/clock.ts";
import { acceptsConnection } from "../../smtp/wire/dial.ts";
import type { EgressRoutes } from "../../smtp/wire/egress-routes.ts";
import type { SmtpTraceEvent } from "../../smtp/wire/trace.ts";
import type { RedisClients } from "../../stores/redis.ts";
import { createCatchAllFacts } from "../../verification/catch-all.ts";
import type { SharedLists } from "../../verification/lists/lists.ts";
import { createSiteDirectory, providerNames, type SiteDirectory } from "../../verification/lists/site.ts";
import { composeBreakers } from "./breakers.ts";
import { type StartedThreads, startThreads } from "./check-threads.ts";
import { composeLearnedBehaviour, withLearning } from "./learned-behaviour.ts";
import { composePreflight, type Preflight } from "./preflight.ts";
import { composeSelfCheck, type SelfCheckService } from "./self-check.ts";

export interface Checks {
  pool: CheckPool;
  lists: SharedLists;
  slots: EgressSlots;
  network: NetworkHealth;
  selfCheck: SelfCheckService;
  /** The directory of sites, with the operator's own providers. */
  sites: SiteDirectory;
  /** Names of its providers. */
  providers: ReadonlySet<string>;
  /** Rows that keep a site of this name busy: see `queueCapacityOf`. */
  roomAt(site: string): number;
  breakers: BreakerAuthority;
  siteCaps: Pick<SiteCaps, "reduced">;
  learnedBehaviour: BehaviourAuthority;
}

interface Deps {
  config: ChecksConfig;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
  /** Threads that were started before the other modules were loaded; absent: they are started now. */
  begun?: StartedThreads;
  /** Receives the SMTP traffic of traced check threads. */
  onTrace?: ((event: SmtpTraceEvent) => void) | undefined;
  /** Releases the rows parked for a site that accepts us again. Returns how many. Absent: this process parks no rows. */
  releaseParkedRows?: (site: string) => Promise<number>;
}

/**
 * The check engine of a process: its threads, their shared memory, and the answers that the main thread gives them.
 * @throws ConfigError for a wrong entry of SHAPING
 */
export function composeChecks(deps: Deps): Checks {
  const { config, log, metrics, redis } = deps;
  const clock = systemClock;
  const { threads, lists, board, ownShaping: own, shaping, paths } = deps.begun ?? startThreads(config, log);
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
  const learnedBehaviour = composeLearnedBehaviour({ ...deps, providers });
  const batches = new CheckBatches(board, processMonotonicMs);
  const broker = createBroker({
    clock,
    checks: batches,
    slots,
    onCrowded: (site) => slots.onCrowded(site),
    facts: withLearning(
      createCatchAllFacts(clock, createCatchAllStore(redis.commands, clock)),
      learnedBehaviour,
    ),
    behaviours: learnedBehaviour,
    health: network,
    breakers,
    onTrace: deps.onTrace,
    onCounts: (report) => countThreadReport(metrics, report),
  });
  const share = createSelfCheckShare(redis, config.smtp.egressId, preflight.settings);
  const selfCheck = composeSelfCheck({ config, log, metrics, preflight, share, network, broker });
  const pool = createCheckPool({ threads, batches, broker });
  observeEngine(metrics, () => {
    const { held, waiting } = slots.stats();
    const breakersOpen = breakers.openByProvider();
    const load = { checksInFlight: pool.inFlight, slotsHeld: held, slotWaiters: waiting };
    return {
      ...load,
      breakersOpen,
      sitesReduced: caps.reduced().length,
      sessionsOpen: broker.sessionsOpen(),
    };
  });
  const sites = createSiteDirectory(shaping.mx);
  const roomAt = (site: string) =>
    queueCapacityOf(shaping.policyFor(providers.has(site) ? site : null, site), paths.capCountOf(site));
  return {
    lists,
    pool,
    slots,
    network,
    selfCheck,
    breakers,
    siteCaps: caps,
    learnedBehaviour,
    sites,
    providers,
    roomAt,
  };
}

/** Adds a check thread's counts to the metrics. */
function countThreadReport(metrics: Metrics, report: ThreadReport): void {
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
    metrics.probeSeconds.seriesOf(provider).add(answered);
  for (const [result, count] of Object.entries(report.lookUps))
    if (count > 0) metrics.dnsLookups.inc({ result }, count);
  for (const [result, count] of Object.entries(report.catchAllLookUps))
    if (count > 0) metrics.catchAllLookups.inc({ result }, count);
}

function watchNetwork(
  board: SharedBoard,
  paths: EgressRoutes,
  preflight: Preflight,
  { config, log, metrics }: Pick<Deps, "config" | "log" | "metrics">,
) {
  const names = paths.all.map(({ name }) => name);
  return createNetworkHealth({
    clock: systemClock,
    board,
    routes: names,
    routesInUse: preflight.routes.map(({ name }) => name),
    dial: (trial, withinMs) => acceptsConnection(trial, config.smtp, paths, withinMs),
    onChange(way, down, all) {
      metrics.networkDown.set(all ? 1 : 0);
      metrics.egressRouteDown.set({ way }, down ? 1 : 0);
      if (down)
        log.error({ way }, "no mail server can be reached by this way out: is outbound port 25 open?");
      else log.info({ way }, "mail servers can be reached again by this way out");
    },
  });
}
