// npm run chaos [-- --minutes N --seed N --only KIND,... --times N --json --logs DIR]: runs the real service on stores
// of its own, all on loopback, under mixed traffic. Meanwhile its processes are killed, stalled and rolled; PostgreSQL,
// Redis, object storage, mail servers, DNS, clocks and disks fail, as drawn from a seed. Then it counts what was lost,
// doubled, answered wrongly or charged wrongly, and what did not recover. It also runs an overload of ten times the
// capacity, and hostile neighbours beside a victim. docs/chaos.md explains the output. Exit codes: 0 every bound holds;
// 1 one does not, or the run failed; 2 wrong arguments, or no bound is missed but some figures are void.
import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { findLoadTools, type LoadTools } from "../bench/api/load-tools.ts";
import { type Cores, chooseCores } from "../bench/setup/pin.ts";
import {
  ALL_ROLES,
  type ChaosDeployment,
  ONE_EACH,
  type Roles,
  startDeployment,
} from "./chaos/deployment/deployment.ts";
import { ATTACK_ORIGIN } from "./chaos/neighbours/attackers.ts";
import { judgeNeighbours } from "./chaos/neighbours/judge-neighbours.ts";
import { runNeighbours } from "./chaos/neighbours/neighbours.ts";
import { type ChaosOptions, chaosOptions, commandOf, UsageError } from "./chaos/options.ts";
import { judgeOverload } from "./chaos/overload/judge-overload.ts";
import { runOverload } from "./chaos/overload/overload.ts";
import { runStorm } from "./chaos/storm.ts";
import { createClient } from "./chaos/traffic/asking.ts";
import { startHooks } from "./chaos/traffic/hooks.ts";
import type { Door } from "./chaos/traffic/request-log.ts";
import { type Closing, exitCodeOf, renderClosing } from "./chaos/verdict/closing.ts";
import { type Judgement, judgeStorm } from "./chaos/verdict/judge.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";

const ROOT = resolve(import.meta.dirname, "..");
const SEEDS = 2 ** 31 - 1;

// The table may be all that standard output is for.
const say = (line: string) => console.error(`chaos ${process.uptime().toFixed(0).padStart(4)} s: ${line}`);

/**
 * The entrances for traffic: each API process, and the balancer, which must hide from clients that a process is rolled.
 */
function doorsOf({ members, balancer }: ChaosDeployment): Door[] {
  const direct = members
    .filter(({ role }) => role === "api")
    .map(({ name, url }) => ({ target: name, client: createClient(url) }));
  if (typeof balancer === "string") return direct;
  const before = { target: null, client: createClient(balancer.url) };
  return direct.flatMap((door) => [door, before]);
}

async function storm(options: ChaosOptions, deployment: ChaosDeployment): Promise<Judgement> {
  const { seed, kinds, forMs } = options;
  const hooks = await startHooks();
  const doors = doorsOf(deployment);
  try {
    const found = await runStorm({ deployment, hooks, doors, seed, kinds, forMs, say });
    return judgeStorm(found);
  } finally {
    for (const { client } of doors) client.close();
    await hooks.close();
  }
}

/** Before all else: a run of minutes must not end for want of them. @throws Error that says what this machine lacks */
async function overloadTools(guard: Guard): Promise<LoadTools> {
  return findLoadTools({ guard }).catch((error: Error) => {
    throw new Error(
      `the overload cannot be run here, the rest can with --only and its kinds: ${error.message}`,
    );
  });
}

/** The faults and the overload, which share a deployment. */
async function stormAndOverload(
  guard: Guard,
  options: ChaosOptions,
  logsDir: string | null,
): Promise<Judgement[]> {
  const roles: Roles = options.kinds.length === 0 ? [["api", 1]] : ALL_ROLES;
  const tools = options.overload ? await overloadTools(guard) : null;
  const clocks = options.kinds.includes("clock");
  const deployment = await startDeployment({ root: ROOT, guard, logsDir, roles, clocks, say });
  if (deployment.noClock !== null) say(`clocks stay as they are: ${deployment.noClock}`);
  if (typeof deployment.balancer === "string") say(`no balancer: ${deployment.balancer}`);
  const parts: Judgement[] = [];
  if (options.kinds.length > 0) parts.push(await storm(options, deployment));
  if (tools !== null) {
    say("overload");
    const found = await runOverload(deployment, { tools, times: options.times, guard, say });
    parts.push({ findings: judgeOverload(found), details: [] });
  }
  await deployment.close();
  return parts;
}

async function neighbours(guard: Guard, cores: Cores, logsDir: string | null): Promise<Judgement> {
  const settings = { CORS_ORIGINS: ATTACK_ORIGIN };
  const deployment = await startDeployment({
    ...{ root: ROOT, guard, logsDir, roles: ONE_EACH, clocks: false, settings, say },
  });
  const meetings = await runNeighbours(deployment, { cores, guard, say });
  await deployment.close();
  return judgeNeighbours(meetings);
}

async function chaos(guard: Guard, options: ChaosOptions): Promise<number> {
  const logsDir = options.logsDir === null ? null : resolve(options.logsDir);
  if (logsDir !== null) mkdirSync(logsDir, { recursive: true });
  say(`seed ${options.seed}`);
  // Now: the overload pins this process, too.
  const cores = options.neighbours ? await chooseCores() : null;
  const parts: Judgement[] = [];
  if (options.kinds.length > 0 || options.overload)
    parts.push(...(await stormAndOverload(guard, options, logsDir)));
  if (cores !== null) parts.push(await neighbours(guard, cores, logsDir));
  const closing: Closing = {
    seed: options.seed,
    again: commandOf(options),
    findings: parts.flatMap(({ findings }) => findings),
    details: parts.flatMap(({ details }) => details),
  };
  console.log(options.json ? JSON.stringify(closing) : renderClosing(closing));
  return exitCodeOf(closing.findings);
}

try {
  const options = chaosOptions(process.argv.slice(2), () => randomInt(SEEDS));
  runGuarded((guard) => chaos(guard, options), { interruptedCode: 130 });
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`chaos: ${error.message}`);
  process.exitCode = 2;
}
