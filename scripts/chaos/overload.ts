import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Burst, BurstOrder } from "./burst-order.ts";
import { type Finding, none, told, within } from "./closing.ts";
import type { ChaosDeployment } from "./deployment.ts";
import { mostOf, type Resources, resourcesOf } from "./resources.ts";

const BURST = fileURLToPath(new URL("./burst.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const CALM_PER_S = 20;
const CALM_MS = 3_000;
const CAPACITY_CALLERS = 48;
const CAPACITY_MS = 4_000;
const TIMES = 10;
const OVERLOAD_MS = 5_000;
const LIMITED_MS = 3_000;
const REST_MS = 2_000;
const TIMEOUT_MS = 30_000;
/** Requests of the burst that are under way at once, a connection each: as a balancer bounds them before one process. */
const CONNECTIONS = 1_000;
const LOOK_EVERY_MS = 100;

async function burst(order: Omit<BurstOrder, "timeoutMs">): Promise<Burst> {
  const whole: BurstOrder = { ...order, timeoutMs: TIMEOUT_MS };
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
  perS: number;
  calm: Burst;
  capacityPerS: number;
  /** Ten times that, by a team that may ask as often as it likes. */
  flood: Burst;
  /** The same by a team whose rate is bounded by half of the capacity. */
  limited: Burst;
  after: Burst;
  /** Of the process that was asked. */
  before: Resources;
  peak: Resources;
  final: Resources;
  crashed: boolean;
}

/** One process of the API under ten times what it can do. */
export async function runOverload(
  deployment: ChaosDeployment,
  say: (line: string) => void,
): Promise<Overload> {
  const api = deployment.members.find(({ role }) => role === "api");
  if (api === undefined || api.pid === null) throw new Error("there is no API to ask");
  const { pid, url } = api;
  const open = await deployment.team("flood", "enterprise", { ratePerS: 1_000_000, rateBurst: 1_000_000 });
  const ask = (name: string, perS: number | null, forMs: number, key = open.key) =>
    burst({ url, key, name, perS, forMs, connections: perS === null ? CAPACITY_CALLERS : CONNECTIONS });
  await ask("warm", null, CAPACITY_MS / 2);
  const calm = await ask("calm", CALM_PER_S, CALM_MS);
  const closed = await ask("capacity", null, CAPACITY_MS);
  const capacityPerS = Math.round(closed.accepted.count / closed.tookS);
  const before = resourcesOf(pid);
  if (before === null) throw new Error("the API ended under its capacity");
  let peak = before;
  const timer = setInterval(() => {
    peak = mostOf(peak, resourcesOf(pid) ?? peak);
  }, LOOK_EVERY_MS);
  const perS = TIMES * capacityPerS;
  say(`capacity ${capacityPerS}/s; asking ${perS}/s`);
  const flood = await ask("flood", perS, OVERLOAD_MS);
  await wait(REST_MS);
  const half = Math.max(1, Math.round(capacityPerS / 2));
  const bounded = await deployment.team("bounded", "enterprise", { ratePerS: half, rateBurst: half });
  const limited = await ask("limited", perS, LIMITED_MS, bounded.key);
  await wait(REST_MS);
  const after = await ask("after", CALM_PER_S, CALM_MS);
  clearInterval(timer);
  const final = resourcesOf(pid) ?? before;
  const crashed = api.pid !== pid || api.crashes.length > 0;
  return { perS, calm, capacityPerS, flood, limited, after, before, peak, final, crashed };
}

/** An answer under overload may take so many times, and so much more, than without. */
const LATENCY = { times: 5, ms: 2_000 } as const;
const REFUSED_WITHIN_MS = 2_000;
const MEMORY_MB = 400;

const boundOf = (calm: Burst) => calm.accepted.p99Ms * LATENCY.times + LATENCY.ms;
const FINE = /^(200|429|503)/;

function strangeIn(...bursts: Burst[]): number {
  const all = bursts.flatMap(({ counts }) => Object.entries(counts));
  return all.filter(([how]) => !FINE.test(how)).reduce((sum, [, count]) => sum + count, 0);
}

const countsOf = ({ counts, unsent }: Burst) =>
  [...Object.entries(counts), ...(unsent > 0 ? [["not sent", unsent] as const] : [])]
    .map(([how, count]) => `${how}: ${count}`)
    .join(", ");

/** @param mustRefuse whether it asks for more than it may have: without a limit of its rate all may be answered, if in time */
function latencies(
  name: string,
  { accepted, refused }: Burst,
  boundMs: number,
  mustRefuse: boolean,
): Finding[] {
  return [
    within(
      `  ${name}: accepted, p99`,
      `${accepted.p99Ms} ms of ${accepted.count}`,
      `${boundMs} ms`,
      accepted.count > 0 && accepted.p99Ms <= boundMs,
    ),
    within(
      `  ${name}: refused, p99`,
      `${refused.p99Ms} ms of ${refused.count}`,
      `${REFUSED_WITHIN_MS} ms`,
      (refused.count > 0 || !mustRefuse) && refused.p99Ms <= REFUSED_WITHIN_MS,
    ),
  ];
}

/** Every bound of the overload. */
export function judgeOverload(found: Overload): Finding[] {
  const { perS, calm, capacityPerS, flood, limited, after, before, peak, final, crashed } = found;
  const boundMs = boundOf(calm);
  return [
    told("overload: capacity", `${capacityPerS}/s, ${perS}/s asked`),
    told("  without load, p99", `${calm.accepted.p99Ms} ms`),
    told("  no rate limit", countsOf(flood)),
    ...latencies("no rate limit", flood, boundMs, false),
    told("  rate limit of half of it", countsOf(limited)),
    ...latencies("rate limit", limited, boundMs, true),
    told("  afterwards", countsOf(after)),
    within(
      "  afterwards, p99",
      `${after.accepted.p99Ms} ms`,
      `${boundMs} ms`,
      after.accepted.p99Ms <= boundMs,
    ),
    none("  neither 200 nor 429 nor 503", strangeIn(calm, flood, limited, after)),
    none("  refused without overload", after.refused.count + calm.refused.count),
    within(
      "  memory, descriptors",
      `${before.rssMb} MB ${before.descriptors} fd -> peak ${peak.rssMb} MB ${peak.descriptors} fd -> ${final.rssMb} MB ${final.descriptors} fd`,
      `peak ${before.rssMb + MEMORY_MB} MB, final ${before.descriptors + 50} fd`,
      peak.rssMb <= before.rssMb + MEMORY_MB && final.descriptors <= before.descriptors + 50,
    ),
    none("  crashes", crashed ? 1 : 0),
  ];
}
