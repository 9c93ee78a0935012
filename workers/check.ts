import { MessageChannel, parentPort, workerData } from "node:worker_threads";
import { openBoard } from "../src/check/board.ts";
import { createBreaker } from "../src/check/breaker.ts";
import { createEngine } from "../src/check/engine.ts";
import type { Scope } from "../src/check/evidence.ts";
import { createThreadLink } from "../src/check/link.ts";
import { openLists } from "../src/check/lists/lists.ts";
import { loadShaping } from "../src/check/shaping.ts";
import type { CheckLine, CheckTask, CheckTaskResult, ThreadSetup } from "../src/check/thread.ts";
import { createThreadCounts } from "../src/check/thread-counts.ts";
import { sleep, systemClock } from "../src/core/clock.ts";
import { AppError } from "../src/core/errors.ts";
import { LIMITS } from "../src/core/limits.ts";
import { createLog } from "../src/core/log.ts";
import { createCachingResolver } from "../src/dns/cache.ts";
import { createResolver } from "../src/dns/client.ts";
import { createSmtpPool } from "../src/smtp/pool.ts";

/** The composition root of a check thread: one engine, its sessions, its line to the main thread. */
function compose(setup: ThreadSetup) {
  const clock = systemClock;
  const { port1, port2 } = new MessageChannel();
  const link = createThreadLink(port1);
  const counts = createThreadCounts(clock, link.counts);
  const resolver = createCachingResolver(createResolver({ servers: setup.dnsServers, clock }), clock);
  const pool = createSmtpPool({
    config: setup.smtp,
    slots: link.slots,
    clock,
    log: createLog(setup.logLevel, { role: "check" }),
    onEvent: (event) => {
      if (event.kind === "opened") counts.session();
    },
  });
  const board = openBoard(setup.board);
  const engine = createEngine({
    clock,
    resolver,
    pool,
    lists: openLists(setup.lists),
    shaping: loadShaping(),
    facts: link.facts,
    breaker: createBreaker(clock),
    board,
    self: { heloName: setup.smtp.heloName, addresses: setup.smtp.sourceAddresses },
    reach: link.reach,
    onProbe: counts.probe,
  });
  link.onDrain(async () => {
    counts.flush();
    await Promise.race([pool.drain(), sleep(clock, LIMITS.smtp.quitTimeoutMs)]);
    pool.close();
    await resolver.close();
  });
  parentPort?.postMessage({ type: "rcpt.attach", port: port2 }, [port2]);
  return { engine, board };
}

const { engine, board } = compose(workerData as ThreadSetup);

/** Checks the addresses of one task at once and answers line by line, in order. An empty task answers nothing. */
export default async function check(task: CheckTask): Promise<CheckTaskResult> {
  if (task.addresses === "") return "";
  const cancelled = () => board.isCancelled(task.slot);
  const lines = task.addresses.split("\n").map(async (address) => {
    return JSON.stringify(await checkOne(address, task.scope, cancelled));
  });
  return (await Promise.all(lines)).join("\n");
}

async function checkOne(address: string, scope: Scope, cancelled: () => boolean): Promise<CheckLine> {
  try {
    return await engine.check(address, scope, cancelled);
  } catch (error) {
    if (error instanceof AppError && error.code === "overloaded") return "overloaded";
    throw error;
  }
}
