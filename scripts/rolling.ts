// npm run rolling [-- --balancer haproxy,nginx] [--rounds 2] [--rate 30]
//
// Restarts every process of a deployment, one after another, under load through a balancer that goes by readiness, with
// clients that keep connections and clients that do not, none of which tries anything twice. Exit code: 0 nothing failed,
// every row is there once and every charge is exact; 1 something did, or could not be set up.
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Balancer, BalancerOptions } from "./balancers/balancer.ts";
import { startHaproxy } from "./balancers/haproxy.ts";
import { startNginx } from "./balancers/nginx.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { createClient } from "./rolling/asking.ts";
import { type Fleet, type RollingTeam, startFleet } from "./rolling/fleet.ts";
import { type BalancerName, readOptions } from "./rolling/options.ts";
import type { Restart } from "./rolling/place.ts";
import { faultsOfPass, type Pass, renderPass } from "./rolling/report.ts";
import { causesOf, type Sample } from "./rolling/tally.ts";
import { startTraffic } from "./rolling/traffic.ts";

const ROOT = resolve(import.meta.dirname, "..");
const START: Record<BalancerName, (options: BalancerOptions) => Promise<Balancer>> = {
  haproxy: startHaproxy,
  nginx: startNginx,
};
const SEEN_WITHIN_MS = 30_000;
const SEEN_POLL_MS = 50;
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

async function restartAll(
  fleet: Fleet,
  balancer: Balancer,
  stopping: AbortSignal,
  tell: (name: string, restart: Restart) => void,
): Promise<Restart[]> {
  const apis = fleet.places.filter(({ role }) => role === "api").map(({ name }) => name);
  const restarts: Restart[] = [];
  for (const place of fleet.places) {
    stopping.throwIfAborted();
    const restart = await place.restart();
    restarts.push(restart);
    if (place.role === "api") await seen(balancer, apis);
    tell(place.name, restart);
    await wait(SETTLE_MS);
  }
  return restarts;
}

function progressOf(place: string, restart: Restart, samples: readonly Sample[]): string {
  // Those under way have no answer yet, and no time.
  const answered = samples.filter(({ ms }) => ms > 0);
  const causes = [...causesOf(answered)].map(([cause, times]) => `${times} x ${cause}`);
  const down = `${restart.exit} after ${Math.round(restart.endedMs)} ms`;
  const up = `ready after ${Math.round(restart.startedMs)} ms`;
  return `${place}: ${down}, ${up}; ${answered.length} requests, ${causes.join("; ") || "none failed"}`;
}

type OpenPass = Omit<Pass, "charges"> & { team: RollingTeam };

async function roll(
  fleet: Fleet,
  name: BalancerName,
  { rounds, rate }: { rounds: number; rate: number },
  guard: Guard,
  stopping: AbortSignal,
): Promise<OpenPass> {
  const apis = fleet.places.filter(({ role }) => role === "api");
  const backends = apis.map(({ name: api, port }) => ({ name: api, host: "127.0.0.1", port }));
  const folder = join(fleet.dir, name);
  const balancer = await START[name]({ guard, say, folder, cacheDir: fleet.cacheDir, backends });
  await seen(
    balancer,
    apis.map((api) => api.name),
  );
  const team = await fleet.team(name);
  const client = createClient(balancer.url);
  const traffic = startTraffic({ client, key: team.key, name, ratePerS: rate });
  const startedMs = performance.now();
  const restarts: Restart[] = [];
  try {
    await wait(SETTLE_MS);
    for (let round = 1; round <= rounds; round++)
      restarts.push(
        ...(await restartAll(fleet, balancer, stopping, (place, restart) =>
          say(`${balancer.name}, round ${round}, ${progressOf(place, restart, traffic.samples)}`),
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
  const fleet = await startFleet(ROOT, guard, say);
  const open: OpenPass[] = [];
  for (const name of options.balancers) open.push(await roll(fleet, name, options, guard, stopping));
  // What a process has leased is told when it ends.
  const badExits = await fleet.stop();
  const passes: Pass[] = [];
  for (const { team, ...pass } of open) passes.push({ ...pass, charges: await fleet.chargesOf(team) });
  await fleet.close();
  for (const pass of passes) console.log(renderPass(pass));
  for (const exit of badExits) console.log(`  FAULT at the end, ${exit}`);
  return passes.every((pass) => faultsOfPass(pass).length === 0) && badExits.length === 0 ? 0 : 1;
}

runGuarded(main, { interruptedCode: 130, onInterrupt: () => say("stopping") });
