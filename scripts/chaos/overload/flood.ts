import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { quoted, SOCKETS } from "../../../bench/native-load.ts";
import type { Guard } from "../../embedded/guard.ts";
import type { Wrk } from "../../embedded/wrk.ts";
import { DOMAINS, domainName } from "../deployment/site-world.ts";
import { CHEAP_FROM, rowOf } from "../traffic/addresses.ts";
import { type Burst, ONSET_MS } from "./burst-order.ts";

/** More than one sender of Node.js can send: the script that wrk's LuaJIT runs does nothing else. */
export interface FloodOrder {
  port: number;
  /** Each of whom asks at even distances, whatever becomes of the requests before; null: whenever a connection is idle. */
  teams: readonly { name: string; key: string; perS: number | null }[];
  forMs: number;
  /** One request each at a time, open before the first. */
  connections: number;
  /** How long an answer is waited for when all was sent. */
  graceMs: number;
}

/** What stands before and behind a row's name, `"@"` for the domain of its number; and how far before this one the row is. */
type Form = readonly [before: string, behind: string, back: number];

const BODY = readFileSync(join(import.meta.dirname, "flood.lua"), "utf8");
/** A list's rows go round after so many, but for the first. */
const ROUND = 100;
const SPARE_MS = 20_000;

function formOf(row: number): Form {
  const { email } = rowOf("list", row);
  const [name = "", number = ""] = /list-(\d+)/.exec(email) ?? [];
  const at = email.indexOf(name);
  const [before, behind] = [email.slice(0, at), email.slice(at + name.length)];
  const isOfNumber = behind.toLowerCase() === `@${domainName(Number(number) % DOMAINS)}`;
  return [encodeURIComponent(before), isOfNumber ? "@" : encodeURIComponent(behind), row - Number(number)];
}

const lua = (forms: readonly Form[]) =>
  `{ ${forms.map(([before, behind, back]) => `{ ${quoted(before)}, ${quoted(behind)}, ${back} }`).join(", ")} }`;

export function floodScript({ port, teams, forMs, connections, graceMs }: FloodOrder): string {
  const numbers = [port, connections, forMs / 1_000, ONSET_MS / 1_000, graceMs / 1_000].join(", ");
  const [before, behind] = domainName(0).split("0");
  const formsFrom = (row: number) => lua(Array.from({ length: ROUND }, (_, i) => formOf(row + i)));
  return [
    `local port, connections, forS, onsetS, graceS = ${numbers}`,
    `local rows, domains, domainBefore, domainBehind = ${CHEAP_FROM}, ${DOMAINS}, ${quoted(`${before}`)}, ${quoted(`${behind}`)}`,
    `local first, later = ${formsFrom(0)}, ${formsFrom(ROUND)}`,
    `local teams = { ${teams.map(({ name, key, perS }) => `{ name = ${quoted(name)}, key = ${quoted(key)}, perS = ${perS ?? 0} }`).join(", ")} }`,
    SOCKETS,
    BODY,
  ].join("\n");
}

/** @throws Error when it did not come to its end */
export function readFlood(output: string, errors: string): Burst {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined)
    throw new Error(`the flood did not say what it counted: ${errors || output.slice(0, 200)}`);
  return JSON.parse(line) as Burst;
}

/** @param core it is pinned to it; null: to none */
export async function runFlood(
  { command, env }: Wrk,
  order: FloodOrder,
  { core, guard }: { core: number | null; guard: Pick<Guard, "hold" | "removeAtEnd"> },
): Promise<Burst> {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-flood-"));
  guard.removeAtEnd(folder);
  try {
    const file = join(folder, "flood.lua");
    writeFileSync(file, floodScript(order));
    // wrk itself does nothing: the script ends it before its threads begin.
    const words = [command, "-t1", "-c1", "-d1s", "-s", file, `http://127.0.0.1:${order.port}/`];
    const [program = "", ...args] = core === null ? words : ["taskset", "-c", String(core), ...words];
    const running = promisify(execFile)(program, args, {
      env,
      timeout: order.forMs + order.graceMs + SPARE_MS,
    });
    // Where the guard is ending everything it throws, and nobody waits for the flood any more.
    running.catch(() => undefined);
    if (running.child.pid !== undefined) guard.hold(running.child.pid, "SIGKILL", 0);
    const { stdout, stderr } = await running;
    return readFlood(stdout, stderr);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
