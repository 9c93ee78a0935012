import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Wrk } from "../scripts/embedded/wrk.ts";
import {
  callScript,
  HTTP_CLIENT,
  type LoadGenerator,
  luaTable,
  type NativeRun,
  type ScriptPlace,
  SOCKETS,
} from "./native-load.ts";

const BODY = readFileSync(join(import.meta.dirname, "closed-loop.lua"), "utf8");

/** @param forMs at least 1 */
export function closedLoopScript(
  { port, connections, forMs }: Parameters<LoadGenerator["load"]>[0],
  requests: readonly string[],
): string {
  return [
    `local port, connections, forS = ${port}, ${connections}, ${forMs / 1000}`,
    luaTable("requests", requests),
    "local at = 0",
    "local function nextRequest()",
    `  at = at % ${requests.length} + 1`,
    "  return requests[at]",
    "end",
    SOCKETS,
    HTTP_CLIENT,
    BODY,
  ].join("\n");
}

/** @throws Error when it did not come to its end */
export function readClosedRun(output: string): NativeRun {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined)
    throw new Error(`the closed loop did not say what it counted: ${output.slice(0, 200)}`);
  const { wrong, ...run } = JSON.parse(line) as Omit<NativeRun, "faults">;
  return { ...run, wrong, faults: { "answers without success": wrong } };
}

/**
 * Each connection asks again as soon as it is answered, for the requests one after the other; the generator never sleeps.
 * A run rejects at the first answer that is none.
 * @param requests whole ones, of printable characters and CR LF; some hundred: what leaves the generator's caches makes it
 *   slow
 */
export function createClosedLoop(
  wrk: Wrk,
  { requests, ...place }: ScriptPlace & { requests: readonly string[] },
): LoadGenerator {
  return {
    async load(how) {
      writeFileSync(place.file, closedLoopScript(how, requests));
      return readClosedRun(await callScript(wrk, { ...place, port: how.port, forMs: how.forMs }));
    },
  };
}
