import type { ChecksConfig } from "../../config/config.ts";
import type { NetworkHealth } from "../../egress/network-health.ts";
import { dialAddressFor } from "../../egress/self-check/exchangers.ts";
import type { RouteReport, SelfCheckFinding } from "../../egress/self-check/report.ts";
import { wasDistrustedAt } from "../../egress/self-check/report-history.ts";
import type { SelfCheckShare } from "../../egress/self-check/share.ts";
import { createSelfCheckWatch, type SelfCheckWatch } from "../../engine/preflight-watch.ts";
import type { Broker } from "../../engine/threads/broker.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { systemClock } from "../../platform/time/clock.ts";
import type { Evidence } from "../../verification/evidence.ts";
import type { Preflight } from "./preflight.ts";

/**
 * The part of the metrics port's report about our sender identity. It shows every caller our source addresses, each proxy's
 * host and port, and our listings: only the operator may reach that port.
 */
export interface SelfCheckStatus {
  ways: (RouteReport & { network: "up" | "down" })[];
  /** Names of routes whose first look has not ended. */
  pending: string[];
}

/** Our sender identity, as this process watches it. */
export interface SelfCheckService {
  /** @returns once the findings of other processes are known, if they are available */
  start(): Promise<void>;
  stop(): Promise<void>;
  status(): SelfCheckStatus;
  /** True for evidence that refuses an address over a route on which we were, or may have been, distrusted at that time. */
  doubts(evidence: Evidence, storedAtMs: number): boolean;
}

interface Deps {
  config: ChecksConfig;
  log: Logger;
  metrics: Metrics;
  preflight: Preflight;
  share: SelfCheckShare;
  network: NetworkHealth;
  broker: Broker;
}

/** Watches our sender identity on each egress route, and reports it to threads, log and metrics. */
export function composeSelfCheck(deps: Deps): SelfCheckService {
  const { config, log, preflight, share, network, broker } = deps;
  const { routes: ways } = preflight;
  const reportsByRoute = new Map<string, RouteReport>();
  const watch: SelfCheckWatch = createSelfCheckWatch({
    clock: systemClock,
    everyMs: config.selfCheck.everyMs,
    random: Math.random,
    routes: ways,
    share,
    startPreflight: () => preflight.startRun(),
    onExchangers(exchangers, looking) {
      for (const path of ways) {
        const dialled = exchangers.flatMap((exchanger) => {
          const address = dialAddressFor(path, exchanger, preflight.family);
          return address === null ? [] : [{ site: exchanger.site, address }];
        });
        network.setSentinels(path.name, dialled);
        // Port 25 may be closed: the route is dialled before the first probe needs it, and `status` reports the result.
        if (looking) network.checkSoon(path.name);
      }
    },
    onReport(report, before) {
      reportsByRoute.set(report.way, report);
      reportSelfCheck(deps, report, before);
    },
    onUpdate: (news) => broker.publishSelfCheck(news),
    onError: (error) => log.error({ err: error }, "the self-check failed"),
  });
  return {
    start: () => watch.start(),
    async stop() {
      watch.stop();
      await preflight.close();
    },
    doubts({ finding: { smtp } }, storedAtMs) {
      if (smtp?.class !== "mailbox_not_found" && smtp?.class !== "mailbox_disabled") return false;
      const report = reportsByRoute.get(smtp.path);
      return smtp.trusted && report !== undefined && wasDistrustedAt(report, storedAtMs);
    },
    status() {
      const reports = watch.reports();
      const known = new Set(reports.map(({ way }) => way));
      return {
        ways: reports.map((report) => ({ ...report, network: network.isDown(report.way) ? "down" : "up" })),
        pending: ways.flatMap(({ name }) => (known.has(name) ? [] : [name])),
      };
    },
  };
}

const failed = ({ findings }: RouteReport) =>
  findings.filter(({ result, weight }) => result === "fail" && weight !== "advice");
const keyOf = (report: RouteReport | null) =>
  report === null
    ? ""
    : failed(report)
        .map(({ check, seen }) => `${check} ${seen}`)
        .join("\n");

function reportSelfCheck(
  { log, metrics, network }: Deps,
  report: RouteReport,
  before: RouteReport | null,
): void {
  const { way, state, trusted } = report;
  metrics.selfCheckOk.set({ way }, state === "ok" ? 1 : 0);
  for (const finding of report.findings) recordCheckMetrics(metrics, way, finding);
  if (report.findings.some(({ result, weight }) => result === "fail" && weight === "service"))
    network.checkSoon(way);
  // Once for each change.
  if (keyOf(report) === keyOf(before)) return;
  if (state === "ok") {
    log.info({ way }, "self-check: our sender identity is in order again on this egress route");
    return;
  }
  const found = failed(report).map(({ seen, advice }) => `${seen} ${advice}`);
  const meaning = trusted
    ? "nothing can be probed by this way out"
    : "what mail servers refuse on this way out makes no address invalid until it is put in order";
  log.warn({ way, found }, `self-check: our sender identity is not in order: ${meaning}`);
}

function recordCheckMetrics(metrics: Metrics, way: string, { check, result }: SelfCheckFinding): void {
  if (result === "pass" || result === "fail")
    metrics.selfCheckResult.set({ way, check }, result === "pass" ? 1 : 0);
  else metrics.selfCheckResult.remove({ way, check });
}
