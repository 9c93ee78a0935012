import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Wrk } from "../../scripts/embedded/wrk.ts";
import { median } from "../report/figures.ts";
import type { Target } from "../report/target.ts";
import { HTTP_CLIENT, luaTable, runScript, type ScriptPlace, SOCKETS } from "./lua.ts";

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
  /** Lateness of the generator when only it could delay a request; -1: there was no such request. */
  lagP99Us: number;
  /** Answered requests that found no idle connection when they were due, or came behind one that had not. */
  waited: number;
}

/** Above it, at the 99th percentile, latencies say more of the generator than of the server. */
const MOST_LAG_US = 200;
/**
 * Share of the ceiling's requests that may wait. A server at half of its rate has idle connections: if more wait, the
 * generator is too slow.
 */
const MOST_WAITED = 0.01;

const BODY = readFileSync(join(import.meta.dirname, "open-loop.lua"), "utf8");

export function openLoopScript(load: OpenLoad, requests: readonly string[]): string {
  const { port, rate, connections, warmS, forS } = load;
  const settings = [port, rate, connections, warmS, forS].join(", ");
  const head = `local port, rate, connections, warmS, forS = ${settings}`;
  return [head, luaTable("requests", requests), SOCKETS, HTTP_CLIENT, BODY].join("\n");
}

/** Sends requests at a fixed rate, without waiting for answers. Rejects at the first answer that is not expected. */
export function runOpenLoop(
  wrk: Wrk,
  load: OpenLoad,
  { requests, ...place }: ScriptPlace & { requests: readonly string[] },
): Promise<OpenRun> {
  const forMs = (load.warmS + load.forS) * 1_000;
  return runScript<OpenRun>(wrk, openLoopScript(load, requests), { ...place, forMs });
}

/**
 * Our 99th percentile over the ceiling's, as medians of the runs. No figure where the generator did not keep up with
 * one of the two: at its limit it finds no idle connection, and both latencies are its own.
 */
export function tailRatio(
  whole: readonly OpenRun[],
  ceiling: readonly OpenRun[],
): Pick<Target, "figure" | "reason"> {
  const medianOf = (runs: readonly OpenRun[], of: (run: OpenRun) => number) => median(runs.map(of));
  const waited = medianOf(ceiling, (run) => run.waited / Math.max(1, run.answered));
  if (waited > MOST_WAITED)
    return {
      figure: null,
      reason: `the generator could not keep up: ${Math.round(waited * 100)} % of its requests to raw waited for a connection`,
    };
  const lagsUs = [whole, ceiling].map((runs) => medianOf(runs, ({ lagP99Us }) => lagP99Us));
  const lagUs = lagsUs.some((us) => us < 0) ? Number.POSITIVE_INFINITY : Math.max(...lagsUs);
  if (lagUs > MOST_LAG_US)
    return { figure: null, reason: `the generator itself was ${lagUs} us late at its 99th percentile` };
  const p99Of = (runs: readonly OpenRun[]) => medianOf(runs, ({ p99Us }) => p99Us);
  return { figure: p99Of(whole) / p99Of(ceiling) };
}
