import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chooseCores, pin } from "../../../bench/pin.ts";
import { cpuMsOf } from "../../../bench/process-cpu.ts";
import type { ChaosDeployment } from "../deployment/deployment.ts";
import type { Member } from "../deployment/member.ts";
import { mostOf, type Resources, resourcesOf } from "../deployment/resources.ts";
import type { Burst, BurstOrder } from "./burst-order.ts";
import { makeScarce } from "./scarce-core.ts";

const BURST = fileURLToPath(new URL("./burst.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const CALM_PER_S = 20;
const CALM_MS = 4_000;
const CAPACITY_CALLERS = 48;
const CAPACITY_MS = 4_000;
/** What a burst can send from one core that it shares with the mail world. More would measure the burst. */
const SENDS_PER_S = 15_000;
const WARM_LIMITED_PER_S = 6_000;
const WARM_MS = 10_000;
const OVERLOAD_MS = 5_000;
const LIMITED_MS = 3_000;
/** From the end of an overload to the next thing: then all must be as it was. */
const REST_MS = 2_000;
const TIMEOUT_MS = 30_000;
/** Of those who ask for too much: all clients' pools together. */
const CONNECTIONS = 1_000;
const LOOK_EVERY_MS = 100;
/** What two more teams ask for beside the one that floods: one asks for a tenth of all, one for a twentieth of the capacity. */
const SECOND_SHARE = 0.1;
const SMALL_SHARE = 0.05;

async function burst(order: Omit<BurstOrder, "timeoutMs" | "connections" | "callers">): Promise<Burst> {
  const whole: BurstOrder = {
    ...order,
    callers: CAPACITY_CALLERS,
    connections: order.teams.some(({ perS }) => perS !== null && perS > CALM_PER_S)
      ? CONNECTIONS
      : CAPACITY_CALLERS,
    timeoutMs: TIMEOUT_MS,
  };
  const child = spawn(process.execPath, ["--import", TSX, BURST, JSON.stringify(whole)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let text = "";
  child.stdout?.on("data", (piece) => {
    text += piece;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the burst ended with ${code}`);
  return JSON.parse(text) as Burst;
}

export interface Overload {
  calm: Burst;
  capacityPerS: number;
  /** Requests a second that fall due in an overload. */
  perS: number;
  /** Of three teams that may ask as often as they like: `flood`, `second` and `small`. */
  flood: Burst;
  /** As many, of a team whose rate is bounded by half of the capacity. */
  limited: Burst;
  after: Burst;
  /** CPU of the process, in milliseconds, while `flood` and `limited` were asked. */
  floodCpuMs: number;
  limitedCpuMs: number;
  /** Of the process that was asked. */
  before: Resources;
  peak: Resources;
  final: Resources;
  crashed: boolean;
}

const UNBOUNDED = { ratePerS: 1_000_000, rateBurst: 1_000_000 } as const;

/** The API on a core of its own, so that who asks and the mail world take nothing of it. @returns that core; null: it has none */
async function separate(pid: number, say: (line: string) => void): Promise<number | null> {
  try {
    const { server, load } = await chooseCores();
    await Promise.all([pin(pid, server), pin(process.pid, load)]);
    return server;
  } catch (error) {
    say(`the API has all that there is: ${(error as Error).message}`);
    return null;
  }
}

/**
 * One process of the API under so many times what it can do, whatever becomes of the requests before. It has served and refused for
 * some seconds then, as one in service has: to compile that is no part of this. And it has but a part of its core.
 */
export async function runOverload(
  deployment: ChaosDeployment,
  times: number,
  say: (line: string) => void,
): Promise<Overload> {
  const api = deployment.members.find(({ role }) => role === "api");
  if (api === undefined || api.pid === null) throw new Error("there is no API to ask");
  const core = await separate(api.pid, say);
  await warmUp(deployment, api.url);
  const scarcity = core === null ? null : await makeScarce(api.pid);
  try {
    return await overload({ deployment, api, pid: api.pid, times }, say);
  } finally {
    await scarcity?.end();
  }
}

async function warmUp(deployment: ChaosDeployment, url: string): Promise<void> {
  const { key } = await deployment.team("warm", "enterprise", UNBOUNDED);
  const limited = await deployment.team("warm-limited", "enterprise", { ratePerS: 100, rateBurst: 100 });
  const teams = [
    { name: "warm", perS: SENDS_PER_S - WARM_LIMITED_PER_S, key },
    { name: "warm-limited", perS: WARM_LIMITED_PER_S, key: limited.key },
  ];
  await burst({ url, forMs: WARM_MS, teams: [{ name: "warm-checks", perS: null, key }] });
  await burst({ url, forMs: WARM_MS, teams });
  await wait(REST_MS);
}

interface Asking {
  deployment: ChaosDeployment;
  api: Member;
  pid: number;
  times: number;
}

async function overload(
  { deployment, api, pid, times }: Asking,
  say: (line: string) => void,
): Promise<Overload> {
  const { url } = api;
  const [open, second, small] = await Promise.all(
    ["flood", "second", "small"].map((name) => deployment.team(name, "enterprise", UNBOUNDED)),
  );
  if (open === undefined || second === undefined || small === undefined) throw new Error("no teams");
  const ask = (name: string, perS: number | null, forMs: number, { key } = open) =>
    burst({ url, forMs, teams: [{ name, perS, key }] });
  await ask("again", null, CAPACITY_MS / 2);
  await wait(REST_MS);
  const calm = await ask("calm", CALM_PER_S, CALM_MS);
  const closed = await ask("capacity", null, CAPACITY_MS);
  const capacityPerS = Math.round(closed.all.accepted.count / closed.tookS);
  const before = resourcesOf(pid);
  if (before === null) throw new Error("the API ended under its capacity");
  let peak = before;
  const timer = setInterval(() => {
    peak = mostOf(peak, resourcesOf(pid) ?? peak);
  }, LOOK_EVERY_MS);
  const perS = Math.min(times * capacityPerS, SENDS_PER_S);
  const ofSecond = SECOND_SHARE * perS;
  const ofSmall = SMALL_SHARE * capacityPerS;
  say(`capacity ${capacityPerS}/s; asking ${perS}/s`);
  const cpuBeforeMs = cpuMsOf(pid);
  const flood = await burst({
    url,
    forMs: OVERLOAD_MS,
    teams: [
      { name: "flood", perS: perS - ofSecond - ofSmall, key: open.key },
      { name: "second", perS: ofSecond, key: second.key },
      { name: "small", perS: ofSmall, key: small.key },
    ],
  });
  const floodCpuMs = cpuMsOf(pid) - cpuBeforeMs;
  await wait(REST_MS);
  const half = Math.max(1, Math.round(capacityPerS / 2));
  const bounded = await deployment.team("bounded", "enterprise", { ratePerS: half, rateBurst: half });
  const cpuBetweenMs = cpuMsOf(pid);
  const limited = await ask("limited", perS, LIMITED_MS, bounded);
  const limitedCpuMs = cpuMsOf(pid) - cpuBetweenMs;
  await wait(REST_MS);
  const after = await ask("after", CALM_PER_S, CALM_MS);
  clearInterval(timer);
  const final = resourcesOf(pid) ?? before;
  const crashed = api.pid !== pid || api.crashes.length > 0;
  return {
    ...{ calm, capacityPerS, perS, flood, limited, after },
    ...{ floodCpuMs, limitedCpuMs },
    ...{ before, peak, final, crashed },
  };
}
