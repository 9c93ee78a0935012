import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Wrk } from "../scripts/embedded/wrk.ts";
import { InvalidRun } from "./figures.ts";

const run = promisify(execFile);
const SPARE_MS = 20_000;

export interface NativeLoad {
  port: number;
  connections: number;
  forMs: number;
}

/** Requests that were sent within the time, each answered as it was meant to be, and when the last of them was. */
export interface NativeRun {
  answered: number;
  wallMs: number;
}

/** Where wrk finds its script, and the core that it is pinned to; null: none. */
export interface ScriptPlace {
  file: string;
  core: number | null;
}

export interface LoadGenerator {
  load(load: NativeLoad): Promise<NativeRun>;
}

const luaOf = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
const CLOSED_LOOP = luaOf("closed-loop.lua");
/** Connections to `port`, for loops in Lua. */
export const WIRE = luaOf("wire.lua");

/** As a string of Lua. */
export const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, "\\$&").replaceAll("\r\n", "\\r\\n")}"`;

/** As a table of Lua. */
export const luaTable = (texts: readonly string[]) =>
  ["{", ...texts.map((text) => `  ${quoted(text)},`), "}"].join("\n");

/**
 * Lua that makes `nextRequest` go through the requests, again and again.
 * @param requests whole ones, of printable characters and CR LF; some hundred: what leaves the generator's caches makes it
 *   too slow
 */
export function inTurn(requests: readonly string[]): string {
  return [
    `local requests = ${luaTable(requests)}`,
    "local at = 0",
    "local function nextRequest()",
    `  at = at % ${requests.length} + 1`,
    "  return requests[at]",
    "end",
  ].join("\n");
}

/** @param nextRequest Lua that makes a function of this name, which gives the text of each */
export function closedLoopScript({ port, connections, forMs }: NativeLoad, nextRequest: string): string {
  const settings = `local port, connections, forS = ${port}, ${connections}, ${forMs / 1_000}`;
  return [settings, nextRequest, WIRE, CLOSED_LOOP].join("\n");
}

/** @throws Error when it did not come to its end */
export function readNativeRun(output: string): NativeRun {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined)
    throw new Error(`the closed loop did not say what it counted: ${output.slice(0, 200)}`);
  return JSON.parse(line) as NativeRun;
}

/**
 * Closed loop: each connection asks again as soon as it is answered. No pipelining.
 * @param nextRequest see `closedLoopScript`
 */
export function createNativeLoad(
  wrk: Wrk,
  { nextRequest, ...place }: ScriptPlace & { nextRequest: string },
): LoadGenerator {
  return {
    async load(load) {
      writeFileSync(place.file, closedLoopScript(load, nextRequest));
      return readNativeRun(await callWrk(wrk, { ...place, port: load.port, forMs: load.forMs }));
    },
  };
}

/**
 * What the script in `file` says, which ends the process itself. Rejects when it fails, or takes much longer than `forMs`.
 * @throws InvalidRun where an answer was none
 */
export async function callWrk(
  wrk: Wrk,
  { file, core, port, forMs }: ScriptPlace & Pick<NativeLoad, "port" | "forMs">,
): Promise<string> {
  const pinned = core === null ? [] : ["taskset", "-c", String(core)];
  // wrk itself does nothing: the script ends it before its threads begin.
  const how = ["-t1", "-c1", "-d1s", "-s", file, `http://127.0.0.1:${port}/`];
  const [command = "", ...rest] = [...pinned, wrk.command, ...how];
  try {
    const { stdout } = await run(command, rest, { env: wrk.env, timeout: forMs + SPARE_MS });
    return stdout;
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr ?? "").trim();
    if (said.startsWith("a wrong answer")) throw new InvalidRun(said, { cause: error });
    throw new Error(said === "" ? String(error) : `the load generator: ${said}`, { cause: error });
  }
}
