import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Wrk } from "../scripts/embedded/wrk.ts";
import { median } from "./figures.ts";
import { callWrk, quoted, type ScriptPlace } from "./native-load.ts";
import type { Target } from "./target.ts";

export interface OpenLoad {
  port: number;
  /** Requests a second, at even distances. */
  rate: number;
  connections: number;
  /** Seconds before and while answers are counted. */
  warmS: number;
  forS: number;
}

/** Microseconds from when a request was due. */
export interface OpenRun {
  answered: number;
  /** Requests that got no answer. */
  wrong: number;
  perS: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
  /** How late the generator was where nobody but itself kept it waiting. */
  lagP99Us: number;
}

/** Above it, at the 99th percentile, latencies say more of the generator than of the server. */
const MOST_LAG_US = 200;

const BODY = readFileSync(join(import.meta.dirname, "open-loop.lua"), "utf8");

export function openLoopScript(load: OpenLoad, requests: readonly string[]): string {
  const { port, rate, connections, warmS, forS } = load;
  const settings = [port, rate, connections, warmS, forS].join(", ");
  const head = `local port, rate, connections, warmS, forS = ${settings}`;
  return [head, "local requests = {", ...requests.map((text) => `  ${quoted(text)},`), "}", BODY].join("\n");
}

/** @throws Error when it did not come to its end */
export function readOpenRun(output: string): OpenRun {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined)
    throw new Error(`the open loop did not say what it counted: ${output.slice(0, 200)}`);
  return JSON.parse(line) as OpenRun;
}

/** Asks at a fixed rate, whatever becomes of it. Rejects at the first answer that is none. */
export async function runOpenLoop(
  wrk: Wrk,
  load: OpenLoad,
  { requests, ...place }: ScriptPlace & { requests: readonly string[] },
): Promise<OpenRun> {
  writeFileSync(place.file, openLoopScript(load, requests));
  const forMs = (load.warmS + load.forS) * 1_000;
  // wrk itself does nothing: the script ends it before its threads begin.
  return readOpenRun(await callWrk(wrk, ["-t1", "-c1", "-d1s"], { ...place, port: load.port, forMs }));
}

/** Medians of the runs: our 99th percentile over the ceiling's. */
export function tailRatio(
  whole: readonly OpenRun[],
  ceiling: readonly OpenRun[],
): Pick<Target, "figure" | "reason"> {
  const p99Of = (runs: readonly OpenRun[]) => median(runs.map(({ p99Us }) => p99Us));
  const lagUs = median([...whole, ...ceiling].map(({ lagP99Us }) => lagP99Us));
  if (lagUs <= MOST_LAG_US) return { figure: p99Of(whole) / p99Of(ceiling) };
  return { figure: null, reason: `the generator itself was ${lagUs} us late at its 99th percentile` };
}
