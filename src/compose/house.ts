import type { Broker } from "../check/broker.ts";
import type { Evidence } from "../check/evidence.ts";
import { addressBy } from "../check/house/exchangers.ts";
import type { Finding, WayReport } from "../check/house/report.ts";
import type { HouseShare } from "../check/house/share.ts";
import { isDoubted } from "../check/house/standing.ts";
import { createHouseWatch, type HouseWatch } from "../check/house/watch.ts";
import type { NetworkHealth } from "../check/network-health.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Preflight } from "./preflight.ts";

/**
 * What the metrics port says of our own house. It names our source addresses, the host and port of each proxy, and where we
 * are listed: to whoever reaches that port, which is the operator's alone.
 */
export interface HouseStatus {
  ways: (WayReport & { network: "up" | "down" })[];
  /** Ways whose first look has not ended. */
  pending: string[];
}

/** Our own house, as this process watches it. */
export interface House {
  /** @returns once it is known what other processes have found, where that is known at once */
  start(): Promise<void>;
  stop(): Promise<void>;
  status(): HouseStatus;
  /** True of evidence that condemns by a way on which we were distrusted then, or may have been. */
  doubts(evidence: Evidence, storedAtMs: number): boolean;
}

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  preflight: Preflight;
  share: HouseShare;
  network: NetworkHealth;
  broker: Broker;
}

/** Watches the ways that probes take, and tells of each to threads, log and metrics. */
export function composeHouse(deps: Deps): House {
  const { config, log, preflight, share, network, broker } = deps;
  const { ways } = preflight;
  const doubted = new Map<string, WayReport>();
  const watch: HouseWatch = createHouseWatch({
    clock: systemClock,
    everyMs: config.house.everyMs,
    random: Math.random,
    ways,
    share,
    begin: () => preflight.begin(),
    onExchangers(exchangers, looking) {
      for (const path of ways) {
        const dialled = exchangers.flatMap((exchanger) => {
          const address = addressBy(path, exchanger, preflight.family);
          return address === null ? [] : [{ site: exchanger.site, address }];
        });
        network.know(path.name, dialled);
        // Before anybody asks: port 25 may be closed. Who is told what was found is told that too.
        if (looking) network.doubt(path.name);
      }
    },
    onReport(report, before) {
      doubted.set(report.way, report);
      tellOf(deps, report, before);
    },
    onNews: (news) => broker.tellHouse(news),
    onError: (error) => log.error({ err: error }, "our own house could not be looked at"),
  });
  return {
    start: () => watch.start(),
    async stop() {
      watch.stop();
      await preflight.close();
    },
    doubts({ smtp }, storedAtMs) {
      if (smtp?.class !== "mailbox_not_found" && smtp?.class !== "mailbox_disabled") return false;
      const report = doubted.get(smtp.path);
      return smtp.trusted && report !== undefined && isDoubted(report, storedAtMs);
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

const failed = ({ findings }: WayReport) =>
  findings.filter(({ result, weight }) => result === "fail" && weight !== "advice");
const keyOf = (report: WayReport | null) =>
  report === null
    ? ""
    : failed(report)
        .map(({ check, seen }) => `${check} ${seen}`)
        .join("\n");

function tellOf({ log, metrics, network }: Deps, report: WayReport, before: WayReport | null): void {
  const { way, state, trusted } = report;
  metrics.houseOk.set({ way }, state === "ok" ? 1 : 0);
  for (const finding of report.findings) noteCheck(metrics, way, finding);
  if (report.findings.some(({ result, weight }) => result === "fail" && weight === "service"))
    network.doubt(way);
  // Once for each change.
  if (keyOf(report) === keyOf(before)) return;
  if (state === "ok") {
    log.info({ way }, "our own house is in order again on this way out");
    return;
  }
  const found = failed(report).map(({ seen, advice }) => `${seen} ${advice}`);
  const meaning = trusted
    ? "nothing can be probed by this way out"
    : "what mail servers refuse on this way out makes no address invalid until it is put in order";
  log.warn({ way, found }, `our own house is not in order: ${meaning}`);
}

function noteCheck(metrics: Metrics, way: string, { check, result }: Finding): void {
  if (result === "pass" || result === "fail")
    metrics.houseCheck.set({ way, check }, result === "pass" ? 1 : 0);
  else metrics.houseCheck.remove({ way, check });
}
