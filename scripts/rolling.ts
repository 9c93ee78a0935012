// npm run rolling [-- --balancer haproxy,nginx] [--rounds 2] [--rate 30]
//
// Restarts every process of a deployment, one after another, under load through a balancer that checks readiness, with
// clients that keep connections and clients that do not. No client retries. Exit code: 0 no request failed, every row
// is there once and every charge is exact; 1 one of these does not hold, or the setup failed.
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Balancer, BalancerOptions } from "./balancers/balancer.ts";
import { startHaproxy } from "./balancers/haproxy.ts";
import { startNginx } from "./balancers/nginx.ts";
import {
  backendsOf,
  type ChaosDeployment,
  type Roles,
  startDeployment,
  type Team,
} from "./chaos/deployment/deployment.ts";
import type { Member } from "./chaos/deployment/member.ts";
import { createClient } from "./chaos/traffic/asking.ts";
import { ledgerOf } from "./chaos/verdict/auditing.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { type BalancerName, readOptions } from "./rolling/options.ts";
import { faultsOfPass, type Pass, type Restart, renderPass } from "./rolling/report.ts";
import { causesOf, type Sample } from "./rolling/tally.ts";
import { startTraffic } from "./rolling/traffic.ts";

const ROOT = resolve(import.meta.dirname, "..");
const START: Record<BalancerName, (options: BalancerOptions) => Promise<Balancer>> = {
  haproxy: startHaproxy,
  nginx: startNginx,
};
const SEEN_WITHIN_MS = 30_000;
const SEEN_POLL_MS = 50;
/** In the order in which they are restarted. */
const ROLES: Roles = [
  ["api", 3],
  ["bulk", 2],
  ["relay", 2],
];
const SETTINGS = { VERIFY_DEADLINE_MS: "10000", SHUTDOWN_GRACE_MS: "25000" };
/** Limits of the team: above what any run needs. */
const LIMITS = { ratePerS: 2_000, rateBurst: 2_000 };
/** Between two restarts, and before the first: all serve. */
const SETTLE_MS = 500;

const say = (line: string) => console.log(`rcpt: ${line}`);

/** Resolves once the balancer sends requests to each of these. */
async function seen(balancer: Balancer, names: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + SEEN_WITHIN_MS;
  for (;;) {
    const ready = await balancer.ready();
    if (names.every((name) => ready.includes(name))) return;
    if (performance.now() > deadlineMs)
      throw new Error(`${balancer.name} sees only ${ready.join(", ") || "nobody"} of ${names.join(", ")}`);
    await wait(SEEN_POLL_MS);
  }
}

async function restart(member: Member): Promise<Restart> {
  const begunMs = performance.now();
  const exit = await member.end("SIGTERM");
  const endedMs = performance.now();
  await member.start();
  const startedMs = performance.now() - endedMs;
  return { role: member.role, endedMs: endedMs - begunMs, startedMs, exit };
}

async function restartAll(
  { members }: ChaosDeployment,
  balancer: Balancer,
  stopping: AbortSignal,
  tell: (name: string, restart: Restart) => void,
): Promise<Restart[]> {
  const apis = backendsOf(members).map(({ name }) => name);
  const restarts: Restart[] = [];
  for (const member of members) {
    stopping.throwIfAborted();
    const done = await restart(member);
    restarts.push(done);
    if (member.role === "api") await seen(balancer, apis);
    tell(member.name, done);
    await wait(SETTLE_MS);
  }
  return restarts;
}

function progressOf(
  member: string,
  { exit, endedMs, startedMs }: Restart,
  samples: readonly Sample[],
): string {
  // Requests in progress have no answer yet, and no duration.
  const answered = samples.filter(({ ms }) => ms > 0);
  const causes = [...causesOf(answered)].map(([cause, times]) => `${times} x ${cause}`);
  const down = `${exit} after ${Math.round(endedMs)} ms`;
  const up = `ready after ${Math.round(startedMs)} ms`;
  return `${member}: ${down}, ${up}; ${answered.length} requests, ${causes.join("; ") || "none failed"}`;
}

type OpenPass = Omit<Pass, "charges"> & { team: Team };

async function roll(
  deployment: ChaosDeployment,
  name: BalancerName,
  { rounds, rate }: { rounds: number; rate: number },
  guard: Guard,
  stopping: AbortSignal,
): Promise<OpenPass> {
  const { dir, cacheDir } = deployment;
  const backends = backendsOf(deployment.members);
  const balancer = await START[name]({ guard, say, folder: join(dir, name), cacheDir, backends });
  await seen(
    balancer,
    backends.map((api) => api.name),
  );
  const team = await deployment.team(name, "enterprise", LIMITS);
  const client = createClient(balancer.url);
  const traffic = startTraffic({ client, key: team.key, name, ratePerS: rate });
  const startedMs = performance.now();
  const restarts: Restart[] = [];
  try {
    await wait(SETTLE_MS);
    for (let round = 1; round <= rounds; round++)
      restarts.push(
        ...(await restartAll(deployment, balancer, stopping, (member, done) =>
          say(`${balancer.name}, round ${round}, ${progressOf(member, done, traffic.samples)}`),
        )),
      );
  } finally {
    await traffic.stop();
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const lists = await traffic.lists.settle();
  client.close();
  await balancer.stop();
  const units = traffic.units + lists.rowsIn;
  return { balancer: balancer.name, rounds, seconds, samples: traffic.samples, restarts, lists, units, team };
}

async function main(guard: Guard, stopping: AbortSignal): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  say("building, and starting 3 APIs, 2 workers and 2 relays before a mail world");
  const deployment = await startDeployment({
    ...{ root: ROOT, guard, logsDir: null, roles: ROLES, clocks: false, balanced: false },
    ...{ settings: SETTINGS, say },
  });
  const { members, sql } = deployment;
  const open: OpenPass[] = [];
  for (const name of options.balancers) open.push(await roll(deployment, name, options, guard, stopping));
  // A process reports its leases when it ends.
  const exits = await Promise.all(members.map(async (one) => `${one.name}: ${await one.end("SIGTERM")}`));
  const badExits = exits.filter((exit) => !exit.endsWith(": exit code 0"));
  const passes: Pass[] = [];
  for (const { team, ...pass } of open) passes.push({ ...pass, charges: await ledgerOf(sql, team.id) });
  await deployment.close();
  for (const pass of passes) console.log(renderPass(pass));
  for (const exit of badExits) console.log(`  FAULT at the end, ${exit}`);
  return passes.every((pass) => faultsOfPass(pass).length === 0) && badExits.length === 0 ? 0 : 1;
}

runGuarded(main, { interruptedCode: 130, onInterrupt: () => say("stopping") });
