import { MessageChannel, parentPort, workerData } from "node:worker_threads";
import { LIMITS } from "../src/config/limits/limits.ts";
import { createCachingResolver } from "../src/dns/cache.ts";
import { createResolver } from "../src/dns/client.ts";
import { createBreaker } from "../src/egress/breaker/mirror.ts";
import { createSelfIdentities } from "../src/egress/self-identities.ts";
import { loadShaping } from "../src/egress/shaping.ts";
import { openSharedBoard } from "../src/egress/shared-board.ts";
import { createSiteQueues } from "../src/egress/site-queues.ts";
import { createDomainSignals, withDomainSignals } from "../src/engine/domain-signals.ts";
import { createEngine } from "../src/engine/engine.ts";
import { createSiteBehaviours } from "../src/engine/learned-behaviour/mirror.ts";
import { createNetworkView } from "../src/engine/network-view.ts";
import { createOtherAddresses } from "../src/engine/other-addresses.ts";
import { CheckTaskRunner } from "../src/engine/threads/check-task-runner.ts";
import { createThreadCounts } from "../src/engine/threads/thread-counts.ts";
import { ThreadLink } from "../src/engine/threads/thread-link.ts";
import type { AttachMessage } from "../src/engine/threads/thread-messages.ts";
import type { ThreadSetup } from "../src/engine/threads/thread-tasks.ts";
import { createLog } from "../src/platform/log.ts";
import { pause, processMonotonicMs, systemClock } from "../src/platform/time/clock.ts";
import { createSmtpPool, type SmtpPool } from "../src/smtp/pool/pool.ts";
import { createEgressRoutes } from "../src/smtp/wire/egress-routes.ts";
import { createTracedDial } from "../src/smtp/wire/trace.ts";
import { openLists } from "../src/verification/lists/lists.ts";
import { createSiteDirectory, providerNames } from "../src/verification/lists/site.ts";

/** The composition root of a check thread: one engine, its sessions, its port to the main thread. */
function compose(setup: ThreadSetup): void {
  const clock = systemClock;
  const log = createLog(setup.logLevel, { role: "check" });
  const { port1, port2 } = new MessageChannel();
  const link = new ThreadLink(port1);
  const shaping = loadShaping(setup.shaping);
  const counts = createThreadCounts({
    clock,
    providers: providerNames(shaping.mx),
    send: (report) => link.sendCounts(report),
  });
  const dns = createResolver({ servers: setup.dnsServers, clock });
  const resolver = createCachingResolver(dns, clock, (result) => counts.countLookUp(result));
  const pool = createSmtpPool({
    config: setup.smtp,
    slots: link.slots,
    clock,
    log,
    onEvent: (event) => {
      if (event.kind === "opened") counts.countSession(1);
      else if (event.kind === "closed") counts.countSession(-1);
      else if (event.kind === "silent") network.onSilentDial(event);
      else if (event.kind === "crowded") link.reportCrowded(event.cap);
    },
    trafficOf: (site) => counts.trafficOf(site),
    othersOf: (destination) => othersOf(destination),
    dial: setup.isSmtpTraced ? createTracedDial((event) => link.sendTrace(event)) : undefined,
  });
  const board = openSharedBoard(setup.board);
  const paths = createEgressRoutes(setup.smtp, shaping.routes);
  const network = createNetworkView({ clock, board, paths, resolver, reach: link.reach });
  const breaker = createBreaker({
    clock,
    port: link.breaker,
    holdBack: ({ site, path, domain }) => pool.holdBack(site, path, domain),
  });
  const othersOf = createOtherAddresses({ resolver, paths, breaker, network });
  const probing = createEngine({
    clock,
    resolver,
    pool,
    paths,
    routeTrust: link.routeTrust,
    lines: createSiteQueues((site, policy) => pool.depthAt(site, policy)),
    lists: openLists(setup.lists),
    shaping,
    sites: createSiteDirectory(shaping.mx),
    facts: link.facts,
    behaviours: createSiteBehaviours(clock, link.behaviours),
    breaker,
    network,
    self: createSelfIdentities(setup.smtp, paths, (path) => link.seenAs(path)),
    catchAllLookUps: counts.catchAllLookUps,
    onProbe: (provider, outcome) => counts.countProbe(provider, outcome),
  });
  const engine = withDomainSignals(probing, createDomainSignals({ resolver, clock, config: setup.signals }));
  const onAnswers = () => link.onAnswers();
  const runner = new CheckTaskRunner({ engine, board, clock, now: processMonotonicMs, log, onAnswers });
  link.serve({
    runner,
    async drain() {
      counts.flush();
      await closeSessions(pool);
      await resolver.close();
    },
  });
  parentPort?.postMessage({ type: "rcpt.attach", port: port2 } satisfies AttachMessage, [port2]);
}

async function closeSessions(pool: SmtpPool): Promise<void> {
  await Promise.race([pool.drain(), pause(systemClock, LIMITS.smtp.quitTimeoutMs)]);
  pool.close();
}

compose(workerData as ThreadSetup);

/** Runs when the thread has loaded: its answer says so. Checks come over the port, see `MainMessage`. */
export default function hello(): null {
  return null;
}
