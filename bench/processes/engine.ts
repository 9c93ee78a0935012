import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";
import { parseAddress } from "../../src/check/address.ts";
import type { Evidence, Scope } from "../../src/check/evidence.ts";
import type { CheckPool } from "../../src/check/pool.ts";
import { type CheckLine, isDeferred } from "../../src/check/thread.ts";
import { decide } from "../../src/check/verdict/verdict.ts";
import { composeChecks } from "../../src/compose/checks.ts";
import { loadConfig } from "../../src/core/config.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { createLog } from "../../src/core/log.ts";
import { createMetrics } from "../../src/core/metrics.ts";
import { createRedis, type RedisClients } from "../../src/store/redis.ts";
import { answerParent } from "../child.ts";
import { measure } from "../cpu.ts";
import { type PlannedAddress, planRun } from "../plan.ts";
import { ADDRESSES_PER_BATCH, BATCHES_IN_FLIGHT } from "../probe-batches.ts";

/** Checks under way at once: enough to fill 200 connections ten deep, and below what the pool admits. */
const IN_FLIGHT = 4_000;

let pool: CheckPool | null = null;
let redis: RedisClients | null = null;
let constant: Piscina | null = null;
let threads = 0;
let answerBytes = "";

/** Runs `check` over all of `planned`, IN_FLIGHT at a time. */
async function checkAll<T>(
  planned: readonly PlannedAddress[],
  check: (address: string) => Promise<T>,
): Promise<T[]> {
  const found = new Array<T>(planned.length);
  let next = 0;
  async function worker(): Promise<void> {
    for (let at = next++; at < planned.length; at = next++)
      found[at] = await check(planned[at]?.address ?? "");
  }
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, planned.length) }, worker));
  return found;
}

/** Runs all of `planned` through the pool as jobs do: in batches, several at a time, each row patient. */
async function probeAll(checks: CheckPool, planned: readonly PlannedAddress[]): Promise<CheckLine[]> {
  const found = new Array<CheckLine>(planned.length);
  let next = 0;
  async function worker(): Promise<void> {
    for (let from = next; from < planned.length; from = next) {
      next = from + ADDRESSES_PER_BATCH;
      const addresses = planned.slice(from, next).map(({ address }) => address);
      const lines = await checks.checkBatch(addresses, "probed", "patient").lines;
      for (let i = 0; i < lines.length; i++) found[from + i] = lines[i] ?? null;
    }
  }
  await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, worker));
  return found;
}

function isEvidence(line: CheckLine): line is Evidence {
  return line !== null && typeof line === "object" && !isDeferred(line);
}

/** The verdict that an owner of the tier would read. */
function verdictOf(address: string, evidence: Evidence | null, scope: Scope): string {
  const parsed = parseAddress(address);
  const decision = decide({
    address: parsed.ok ? parsed.address : null,
    evidence,
    failure: null,
    probing: scope === "probed",
    blocked: false,
  });
  return `${decision.verdict} ${decision.reason}`;
}

function expectedOf({ exists }: PlannedAddress, scope: Scope): string {
  if (scope === "unprobed") return "unknown smtp_not_in_tier";
  return exists ? "valid accepted_mailbox" : "invalid mailbox_not_found";
}

/** What differs from the plan, by what came instead. */
function judge(planned: readonly PlannedAddress[], found: readonly (Evidence | null)[], scope: Scope) {
  const wrong: Record<string, number> = {};
  planned.forEach((plan, at) => {
    const verdict = verdictOf(plan.address, found[at] ?? null, scope);
    if (verdict !== expectedOf(plan, scope)) wrong[verdict] = (wrong[verdict] ?? 0) + 1;
  });
  return wrong;
}

const verbs = {
  async start(settings: Record<string, string>) {
    const config = loadConfig(settings);
    const log = createLog(config.logLevel);
    redis = createRedis({ url: config.redis.url, name: "rcpt-bench", log });
    await redis.start();
    pool = composeChecks({ config, log, metrics: createMetrics(), redis }).pool;
    threads = config.verify.threads;
    await pool.ready();
    return { threads };
  },

  /** Checks `count` addresses of run `run`: through the pool, its threads and, when probed, their sessions. */
  async check({ run, count, scope }: { run: number; count: number; scope: Scope }) {
    const checks = pool;
    if (checks === null) throw new Error("not started");
    const planned = planRun(run, count);
    let found: (Evidence | null)[] = [];
    const sample = await measure(count, async () => {
      found = await checkAll(planned, (address) => checks.check(address, scope).evidence);
    });
    answerBytes = JSON.stringify(found[0]);
    return { sample, wrong: judge(planned, found, scope) };
  },

  /** Probes `count` addresses of run `run`, as rows of jobs are. */
  async probe({ run, count }: { run: number; count: number }) {
    const checks = pool;
    if (checks === null) throw new Error("not started");
    const planned = planRun(run, count);
    let lines: CheckLine[] = [];
    const sample = await measure(count, async () => {
      lines = await probeAll(checks, planned);
    });
    const found = lines.map((line) => (isEvidence(line) ? line : null));
    return { sample, wrong: judge(planned, found, "probed") };
  },

  /**
   * The ceiling of anything that goes through threads: the same pool of threads with the same settings, whose thread
   * answers at once with the bytes of a real answer.
   */
  async constant({ count }: { count: number }) {
    const answering = startConstant();
    const planned = planRun(0, count);
    const sample = await measure(count, async () => {
      await checkAll(planned, async (addresses) => {
        const text: string = await answering.run({ addresses, scope: "unprobed", slot: 0 });
        return JSON.parse(text) as unknown;
      });
    });
    return { sample };
  },
};

function startConstant(): Piscina {
  constant ??= new Piscina({
    filename: fileURLToPath(new URL(`./constant-thread${extname(import.meta.url)}`, import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: LIMITS.check.tasksPerThread,
    maxQueue: LIMITS.check.tasksInFlight,
    atomics: "disabled",
    workerData: answerBytes,
  });
  return constant;
}

export type EngineProcess = typeof verbs;

answerParent(verbs, async () => {
  await pool?.close();
  await constant?.destroy();
  redis?.stop();
});
