import { MessageChannel, parentPort, workerData } from "node:worker_threads";
import { createBeliefs } from "../src/check/belief/mirror.ts";
import { openBoard } from "../src/check/board.ts";
import { createBreaker } from "../src/check/breaker/mirror.ts";
import { createDomainSignals, withDomainSignals } from "../src/check/domain-signals.ts";
import { createEngine } from "../src/check/engine.ts";
import { createIdentities } from "../src/check/identity.ts";
import { createThreadLink } from "../src/check/link.ts";
import { openLists } from "../src/check/lists/lists.ts";
import { createNetworkView } from "../src/check/network-view.ts";
import { createOtherAddresses } from "../src/check/other-addresses.ts";
import { loadShaping } from "../src/check/shaping.ts";
import { createSiteDirectory, providerNames } from "../src/check/site.ts";
import { createSiteLines } from "../src/check/site-lines.ts";
import { createTaskRunner, type TaskRunner } from "../src/check/task-runner.ts";
import type { AnswersMessage, CheckTask, CheckTaskResult, ThreadSetup } from "../src/check/thread.ts";
import { createThreadCounts } from "../src/check/thread-counts.ts";
import { processMs, sleep, systemClock } from "../src/core/clock.ts";
import { LIMITS } from "../src/core/limits.ts";
import { createLog } from "../src/core/log.ts";
import { createCachingResolver } from "../src/dns/cache.ts";
import { createResolver } from "../src/dns/client.ts";
import { createPaths } from "../src/smtp/path.ts";
import { createSmtpPool, type SmtpPool } from "../src/smtp/pool.ts";

/** The composition root of a check thread: one engine, its sessions, its line to the main thread. */
function compose(setup: ThreadSetup): TaskRunner {
  const clock = systemClock;
  const log = createLog(setup.logLevel, { role: "check" });
  const { port1, port2 } = new MessageChannel();
  const link = createThreadLink(port1);
  const shaping = loadShaping(setup.shaping);
  const counts = createThreadCounts({ clock, providers: providerNames(shaping.mx), send: link.counts });
  const resolver = createCachingResolver(
    createResolver({ servers: setup.dnsServers, clock }),
    clock,
    (result) => counts.lookUp(result),
  );
  const pool = createSmtpPool({
    config: setup.smtp,
    slots: link.slots,
    clock,
    log,
    onEvent: (event) => {
      if (event.kind === "opened") counts.session(1);
      else if (event.kind === "closed") counts.session(-1);
      else if (event.kind === "silent") network.silent(event);
      else if (event.kind === "crowded") link.crowded(event.cap);
    },
    trafficOf: (site) => counts.trafficOf(site),
    othersOf: (destination) => othersOf(destination),
  });
  const board = openBoard(setup.board);
  const paths = createPaths(setup.smtp, shaping.ways);
  const network = createNetworkView({ clock, board, paths, resolver, reach: link.reach });
  const breaker = createBreaker({
    clock,
    line: link.breaker,
    holdBack: ({ site, path, domain }) => pool.holdBack(site, path, domain),
  });
  const othersOf = createOtherAddresses({ resolver, paths, breaker, network });
  const engine = createEngine({
    clock,
    resolver,
    pool,
    paths,
    house: link.house,
    lines: createSiteLines((site, policy) => pool.depthAt(site, policy)),
    lists: openLists(setup.lists),
    shaping,
    sites: createSiteDirectory(shaping.mx),
    facts: link.facts,
    beliefs: createBeliefs(clock, link.beliefs),
    breaker,
    network,
    self: createIdentities(setup.smtp, paths, link.seenAs),
    strangers: counts.strangers,
    onProbe: (provider, outcome) => counts.probe(provider, outcome),
  });
  link.onDrain(async () => {
    counts.flush();
    await closeSessions(pool);
    await resolver.close();
  });
  parentPort?.postMessage({ type: "rcpt.attach", port: port2 }, [port2]);
  const signals = createDomainSignals({ resolver, clock, config: setup.signals });
  return createTaskRunner({
    engine: withDomainSignals(engine, signals),
    board,
    clock,
    now: processMs,
    log,
    post: (answers) => parentPort?.postMessage({ type: "rcpt.answers", answers } satisfies AnswersMessage),
    afterTurn: (callback) => void setImmediate(callback),
  });
}

async function closeSessions(pool: SmtpPool): Promise<void> {
  await Promise.race([pool.drain(), sleep(systemClock, LIMITS.smtp.quitTimeoutMs)]);
  pool.close();
}

const run = compose(workerData as ThreadSetup);

/** Does one task, see `CheckTask`. */
export default function check(task: CheckTask): CheckTaskResult | Promise<CheckTaskResult> {
  return run(task);
}
