import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "../../scripts/embedded/guard.ts";
import type { Wrk } from "../../scripts/embedded/wrk.ts";

/** Sockets for a script that does without wrk's own loop. It needs the local `port`. */
export const SOCKETS = readFileSync(join(import.meta.dirname, "../sinks/sockets.lua"), "utf8");
/** Connections and answers for one that asks HTTP servers, behind SOCKETS. */
export const HTTP_CLIENT = readFileSync(join(import.meta.dirname, "http-client.lua"), "utf8");
const SPARE_MS = 20_000;

/** As a string of Lua. */
export const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, "\\$&").replaceAll("\r\n", "\\r\\n")}"`;

/** A local table of Lua with `texts`. */
export const luaTable = (name: string, texts: readonly string[]) =>
  [`local ${name} = {`, ...texts.map((text) => `  ${quoted(text)},`), "}"].join("\n");

/** File of wrk's script, and the core that wrk is pinned to; null: not pinned. */
export interface ScriptPlace {
  file: string;
  core: number | null;
  /** Ends it with the run; without one the run waits for it. */
  guard?: Pick<Guard, "hold">;
}

/** Reads the line of JSON in a script's output. @throws Error if there is none, because the script failed */
export function readTold<T>(output: string, errors = ""): T {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined)
    throw new Error(`the generator did not say what it counted: ${errors || output.slice(0, 200)}`);
  return JSON.parse(line) as T;
}

/**
 * Runs a script by the LuaJIT inside wrk, which ends before wrk's own threads begin.
 * @returns its line of JSON. Rejects when it fails, or takes much longer than `forMs`
 */
export async function runScript<T>(
  wrk: Wrk,
  script: string,
  { file, core, guard, forMs }: ScriptPlace & { forMs: number },
): Promise<T> {
  writeFileSync(file, script);
  const words = [wrk.command, "-t1", "-c1", "-d1s", "-s", file, "http://127.0.0.1:1/"];
  const [program = "", ...args] = core === null ? words : ["taskset", "-c", String(core), ...words];
  const running = promisify(execFile)(program, args, { env: wrk.env, timeout: forMs + SPARE_MS });
  // `hold` throws while the guard is ending everything; the script is not awaited then.
  running.catch(() => undefined);
  if (running.child.pid !== undefined) guard?.hold(running.child.pid, "SIGKILL", 0);
  const { stdout, stderr } = await running;
  return readTold<T>(stdout, stderr);
}
