import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HTTP_CLIENT, quoted, runScript, SOCKETS } from "../../../bench/api/lua.ts";
import type { Guard } from "../../embedded/guard.ts";
import type { Wrk } from "../../embedded/wrk.ts";
import { DOMAINS, domainName } from "../deployment/site-world.ts";
import { CHEAP_FROM, rowOf } from "../traffic/addresses.ts";

export interface Latencies {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

export interface TeamCounts {
  /** Number of answers by status and code; without an answer, by `cut` or `timeout`. */
  counts: Record<string, number>;
  /** Latencies of answers with 200; `refused`: of all others. For a team with a rate they count from the due time. */
  accepted: Latencies;
  refused: Latencies;
  /** Latencies of answers with 200 to requests due after the first `ONSET_MS`. */
  sustained: Latencies;
}

/** Requests due this soon after a burst's start meet a process that cannot know of it yet. */
export const ONSET_MS = 1_000;

export interface Burst {
  teams: Record<string, TeamCounts>;
  all: TeamCounts;
  /** Latencies of answers with 200 to requests due in the first `ONSET_MS`; `sustained`: to later ones. */
  onset: Latencies;
  sustained: Latencies;
  /**
   * Milliseconds by which the burst itself sent late: latencies below this say more about the sender than about the
   * service.
   */
  lateP99Ms: number;
  tookS: number;
}

/**
 * The load of a burst. A script in wrk's LuaJIT sends it, because a sender in Node.js is too slow.
 */
export interface FloodOrder {
  port: number;
  /**
   * Teams that send at fixed intervals, whatever becomes of earlier requests; `perS` null: whenever a connection is
   * idle.
   */
  teams: readonly { name: string; key: string; perS: number | null }[];
  forMs: number;
  /** Each carries one request at a time, and is opened before the first. */
  connections: number;
  /** Time to wait for answers after everything was sent. */
  graceMs: number;
}

/**
 * Text before and after a row's name, `"@"` for the domain of its number; and how many rows back the row is that it
 * repeats.
 */
type Form = readonly [before: string, behind: string, back: number];

const BODY = readFileSync(join(import.meta.dirname, "flood.lua"), "utf8");
/** The forms of addresses recur after this many rows; the first round has forms of its own. */
const ROUND = 100;

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
    HTTP_CLIENT,
    BODY,
  ].join("\n");
}

/** @param core core to pin it to; null: not pinned */
export async function runFlood(
  wrk: Wrk,
  order: FloodOrder,
  { core, guard }: { core: number | null; guard: Pick<Guard, "hold" | "removeAtEnd"> },
): Promise<Burst> {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-flood-"));
  guard.removeAtEnd(folder);
  try {
    const place = { file: join(folder, "flood.lua"), core, guard, forMs: order.forMs + order.graceMs };
    return await runScript<Burst>(wrk, floodScript(order), place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
