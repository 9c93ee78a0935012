import { setTimeout as wait } from "node:timers/promises";
import type { LoadTools } from "../../../bench/api/load-tools.ts";
import { cpuMsOf } from "../../../bench/cpu/process-cpu.ts";
import type { Guard } from "../../embedded/guard.ts";
import type { ChaosDeployment } from "../deployment/deployment.ts";
import type { Member } from "../deployment/member.ts";
import { giveCore } from "../deployment/own-core.ts";
import { mostOf, type Resources, resourcesOf } from "../deployment/resources.ts";
import { type Burst, type FloodOrder, runFlood } from "./flood.ts";

const CALM_PER_S = 20;
const CALM_MS = 4_000;
const CAPACITY_CALLERS = 48;
const CAPACITY_MS = 4_000;
/**
 * Requests a second that a flood can send from one core that it shares with the mail world. Beyond, the flood itself
 * would be measured.
 */
const SENDS_PER_S = 70_000;
const WARM_PER_S = 20_000;
const WARM_MS = 8_000;
const OVERLOAD_MS = 5_000;
const LIMITED_MS = 3_000;
/** From the end of an overload to the next thing: then all must be as it was. */
const REST_MS = 2_000;
const TIMEOUT_MS = 30_000;
/**
 * Connections of the overload: all clients' pools together. With 1 000, one whole core answers them all, each in 0.15
 * s, and the queue forms in the clients, where the API cannot refuse.
 */
const CONNECTIONS = 2_000;
const LOOK_EVERY_MS = 100;
/** Rates of two teams beside the flooding one: `second` as a share of the load, `small` as a share of the capacity. */
const SECOND_SHARE = 0.1;
const SMALL_SHARE = 0.05;

export interface Overload {
  calm: Burst;
  /** The burst that measures the capacity: each client waits for its answer. */
  closed: Burst;
  capacityPerS: number;
  /** CPU that the process got during `closed`, as a share of one core. */
  capacityBusy: number;
  /** Requests a second of the overload, whether answered or not. */
  perS: number;
  /** Burst of three teams without rate limits: `flood`, `second` and `small`. */
  flood: Burst;
  /** Burst of as many requests, by one team whose rate limit is half of the capacity. */
  limited: Burst;
  after: Burst;
  /** CPU that the process used during `flood`, and during `limited` (next field), in milliseconds. */
  floodCpuMs: number;
  limitedCpuMs: number;
  /** Resources of the process that was asked. */
  before: Resources;
  peak: Resources;
  final: Resources;
  crashed: boolean;
}

const UNBOUNDED = { ratePerS: 1_000_000, rateBurst: 1_000_000 } as const;

type Flood = (teams: FloodOrder["teams"], forMs: number, connections: number) => Promise<Burst>;

export interface OverloadOptions {
  tools: LoadTools;
  times: number;
  guard: Guard;
  say: (line: string) => void;
}

/**
 * Loads one process of the API with `times` its capacity; requests do not wait for earlier answers. The process has a
 * core of its own. It has served and refused for some seconds before, so that compilation by the JIT is not measured.
 */
export async function runOverload(
  deployment: ChaosDeployment,
  { tools: { wrk, cores }, times, guard, say }: OverloadOptions,
): Promise<Overload> {
  const api = deployment.members.find(({ role }) => role === "api");
  if (api === undefined || api.pid === null) throw new Error("there is no API to ask");
  await giveCore(api.pid, cores, guard);
  const flood: Flood = (teams, forMs, connections) =>
    runFlood(
      wrk,
      { port: api.port, teams, forMs, connections, graceMs: TIMEOUT_MS },
      { core: cores.load, guard },
    );
  await warmUp(deployment, flood);
  return overload({ deployment, api, pid: api.pid, times, flood }, say);
}

async function warmUp(deployment: ChaosDeployment, flood: Flood): Promise<void> {
  const { key } = await deployment.team("warm", "enterprise", UNBOUNDED);
  const limited = await deployment.team("warm-limited", "enterprise", { ratePerS: 100, rateBurst: 100 });
  await flood([{ name: "warm-checks", perS: null, key }], WARM_MS, CAPACITY_CALLERS);
  const floods = [
    { name: "warm", perS: WARM_PER_S, key },
    { name: "warm-limited", perS: WARM_PER_S, key: limited.key },
  ];
  await flood(floods, WARM_MS, CONNECTIONS);
  await wait(REST_MS);
}

interface Asking {
  deployment: ChaosDeployment;
  api: Member;
  pid: number;
  times: number;
  flood: Flood;
}

async function overload(
  { deployment, api, pid, times, flood: send }: Asking,
  say: (line: string) => void,
): Promise<Overload> {
  const [open, second, small] = await Promise.all(
    ["flood", "second", "small"].map((name) => deployment.team(name, "enterprise", UNBOUNDED)),
  );
  if (open === undefined || second === undefined || small === undefined) throw new Error("no teams");
  const ask = (name: string, perS: number | null, forMs: number) =>
    send([{ name, perS, key: open.key }], forMs, CAPACITY_CALLERS);
  await ask("again", null, CAPACITY_MS / 2);
  await wait(REST_MS);
  const calm = await ask("calm", CALM_PER_S, CALM_MS);
  const cpuCalmMs = cpuMsOf(pid);
  const closed = await ask("capacity", null, CAPACITY_MS);
  const capacityPerS = Math.round(closed.all.accepted.count / closed.tookS);
  const capacityBusy = (cpuMsOf(pid) - cpuCalmMs) / (closed.tookS * 1_000);
  if (capacityPerS === 0)
    throw new Error(
      `nothing was answered where ${CAPACITY_CALLERS} asked: ${JSON.stringify(closed.all.counts)}`,
    );
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
  const flood = await send(
    [
      { name: "flood", perS: perS - ofSecond - ofSmall, key: open.key },
      { name: "second", perS: ofSecond, key: second.key },
      { name: "small", perS: ofSmall, key: small.key },
    ],
    OVERLOAD_MS,
    CONNECTIONS,
  );
  const floodCpuMs = cpuMsOf(pid) - cpuBeforeMs;
  await wait(REST_MS);
  const half = Math.max(1, Math.round(capacityPerS / 2));
  const bounded = await deployment.team("bounded", "enterprise", { ratePerS: half, rateBurst: half });
  const cpuBetweenMs = cpuMsOf(pid);
  const limited = await send([{ name: "limited", perS, key: bounded.key }], LIMITED_MS, CONNECTIONS);
  const limitedCpuMs = cpuMsOf(pid) - cpuBetweenMs;
  await wait(REST_MS);
  const after = await ask("after", CALM_PER_S, CALM_MS);
  clearInterval(timer);
  const final = resourcesOf(pid) ?? before;
  const crashed = api.pid !== pid || api.crashes.length > 0;
  return {
    ...{ calm, closed, capacityPerS, capacityBusy, perS, flood, limited, after },
    ...{ floodCpuMs, limitedCpuMs },
    ...{ before, peak, final, crashed },
  };
}
