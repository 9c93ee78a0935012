import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Wrk } from "../scripts/embedded/wrk.ts";
import type { Target } from "./target.ts";

const run = promisify(execFile);
/** Sockets for a script that does without wrk's own loop. It needs the local `port`. */
export const SOCKETS = readFileSync(join(import.meta.dirname, "sockets.lua"), "utf8");
/** Connections and answers for one that asks HTTP servers, behind SOCKETS. */
export const HTTP_CLIENT = readFileSync(join(import.meta.dirname, "http-client.lua"), "utf8");
const SPARE_MS = 20_000;

export interface NativeLoad {
  port: number;
  connections: number;
  forMs: number;
}

/** What wrk counted itself. */
export interface NativeRun {
  answered: number;
  /** Answers of a status that is no success, and connections that failed. */
  wrong: number;
  /** The same by what it was. */
  faults: Record<string, number>;
  /**
   * Right answers that took 2 s or longer. No fault: libuv accepts one connection a turn, so of 256 that come at once to a busy
   * server of Node.js' own the last is seen 256 turns later, which was 2.1 s where others had half of its core.
   */
  late: number;
  wallMs: number;
}

/** A server, and how many of its answers in all runs took 2 s or longer. */
export interface Asked {
  readonly name: string;
  readonly late: number;
}

const lateText = ({ name, late }: Asked) => `${name}: ${late} answers took 2 s or longer`;

/** A line for each server that has such. */
export function lateNotes(servers: readonly Asked[]): string[] {
  return servers.filter(({ late }) => late > 0).map(lateText);
}

/** `target`, void where `ours` was late: CPU saved by leaving clients waiting is not saved. A server beside it may be late. */
export function unlessLate(target: Target, ours: Asked): Target {
  if (ours.late === 0 || target.figure === null) return target;
  return { ...target, figure: null, reason: lateText(ours) };
}

/** As a string of Lua. */
export const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, "\\$&").replaceAll("\r\n", "\\r\\n")}"`;

/** A local table of Lua with `texts`. */
export const luaTable = (name: string, texts: readonly string[]) =>
  [`local ${name} = {`, ...texts.map((text) => `  ${quoted(text)},`), "}"].join("\n");

/** Of a script of wrk: what it counted, as a line of JSON, which `readNativeRun` reads. */
export const TELL_AT_THE_END = [
  "done = function(summary)",
  "  local e = summary.errors",
  `  io.write(string.format('\\n{"answered":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"late":%d,"wallMs":%.3f}\\n',`,
  "    summary.requests, e.connect, e.read, e.write, e.status, e.timeout, summary.duration / 1000))",
  "end",
  "",
];

/**
 * Of wrk. With one, the server waits while wrk reads all that has come before it asks again: raw uWebSockets.js was busy for
 * 90 % of the time, with sixteen for 97 to 100 %. With 64 each turn of the server has few requests, and costs it more.
 */
const THREADS = 16;
/**
 * What wrk runs to send one request only: it makes it once and sends its bytes without a call into Lua. Without that a server
 * that looks at none of them was busy for 94 to 96 % of the time, with it for 97 to 98 %, as wrk itself takes as long as it does.
 */
export function loneScript(request: string): string {
  return [`wrk.format = function() return ${quoted(request)} end`, ...TELL_AT_THE_END].join("\n");
}

/** Among `faults`: answers of other statuses than 2xx and 3xx. */
export const UNSUCCESSFUL = "answers without success";

/** The line of `TELL_AT_THE_END`. */
type Told = Pick<NativeRun, "answered" | "late" | "wallMs"> &
  Record<"connect" | "read" | "write" | "status", number>;

/** @throws Error when wrk did not come to its end */
export function readNativeRun(output: string): NativeRun {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk did not say what it counted: ${output.slice(0, 200)}`);
  const { answered, late, wallMs, ...told } = JSON.parse(line) as Told;
  const faults = {
    "failed connects": told.connect,
    "broken reads": told.read,
    "broken writes": told.write,
    [UNSUCCESSFUL]: told.status,
  };
  const wrong = told.connect + told.read + told.write + told.status;
  return { answered, wrong, faults, late, wallMs };
}

export interface LoadGenerator {
  load(load: NativeLoad): Promise<NativeRun>;
}

/**
 * wrk's own closed loop with one request for all.
 * @param core that it is pinned to; null: to none
 * @param file the script, written here
 */
export function createLoneLoad(
  wrk: Wrk,
  { request, file, core }: ScriptPlace & { request: string },
): LoadGenerator {
  writeFileSync(file, loneScript(request));
  return { load: (how) => runWrk(wrk, how, { file, core, threads: THREADS }) };
}

/** Where wrk finds its script, and the core that it is pinned to; null: none. */
export interface ScriptPlace {
  file: string;
  core: number | null;
}

/**
 * One run of wrk with a script that ends with `TELL_AT_THE_END`.
 * @param threads each with a Lua state of its own
 */
export async function runWrk(
  wrk: Wrk,
  { port, connections, forMs }: NativeLoad,
  { threads = 1, ...place }: ScriptPlace & { threads?: number },
): Promise<NativeRun> {
  const seconds = Math.max(1, Math.round(forMs / 1000));
  const how = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`];
  return readNativeRun(await callWrk(wrk, how, { ...place, port, forMs }));
}

/** What a script says that ends before wrk's own threads begin. Rejects when it fails, or takes much longer than `forMs`. */
export const callScript = (wrk: Wrk, how: ScriptPlace & Pick<NativeLoad, "port" | "forMs">) =>
  callWrk(wrk, ["-t1", "-c1", "-d1s"], how);

/** What wrk says of a run of the script in `file`. */
async function callWrk(
  wrk: Wrk,
  how: readonly string[],
  { file, core, port, forMs }: ScriptPlace & Pick<NativeLoad, "port" | "forMs">,
): Promise<string> {
  const pinned = core === null ? [] : ["taskset", "-c", String(core)];
  const [command = "", ...rest] = [...pinned, wrk.command, ...how, "-s", file, `http://127.0.0.1:${port}/`];
  const { stdout } = await run(command, rest, { env: wrk.env, timeout: forMs + SPARE_MS });
  return stdout;
}
