import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Wrk } from "../../scripts/embedded/wrk.ts";
import type { Target } from "../report/target.ts";
import { HTTP_CLIENT, luaTable, runScript, type ScriptPlace, SOCKETS } from "./lua.ts";

const BODY = readFileSync(join(import.meta.dirname, "closed-loop.lua"), "utf8");

export interface ClosedLoad {
  port: number;
  connections: number;
  /** At least 1. */
  forMs: number;
}

export interface ClosedRun {
  answered: number;
  /** Answers that are no success. */
  wrong: number;
  /**
   * Answers that took 2 s or longer. Not a fault: libuv accepts one connection a tick. A busy Node.js server sees the
   * last of 256 simultaneous connections 256 ticks later; that was 2.1 s where other processes had half of its core.
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

/** The requests: Lua that defines `nextRequest`. */
export interface Requests {
  lua: string;
  /** Between answers the generator leaves its core to others, which the server has to wake it for. */
  sleeps: boolean;
}

/**
 * These one after the other, and again from the first on.
 * @param requests whole ones, of printable characters and CR LF; some hundred: what leaves the generator's caches makes it slow
 */
export function inTurn(requests: readonly string[]): string {
  return [
    luaTable("requests", requests),
    "local at = 0",
    "local function nextRequest()",
    `  at = at % ${requests.length} + 1`,
    "  return requests[at]",
    "end",
  ].join("\n");
}

export function closedLoopScript(
  { port, connections, forMs }: ClosedLoad,
  { lua, sleeps }: Requests,
): string {
  const settings = `local port, connections, forS, waitMs = ${port}, ${connections}, ${forMs / 1000}, ${sleeps ? 1 : 0}`;
  return [settings, lua, SOCKETS, HTTP_CLIENT, BODY].join("\n");
}

/**
 * Each connection sends the next request as soon as it is answered. Rejects at the first answer that is not expected.
 */
export function runClosedLoop(
  wrk: Wrk,
  load: ClosedLoad,
  requests: Requests,
  place: ScriptPlace,
): Promise<ClosedRun> {
  return runScript<ClosedRun>(wrk, closedLoopScript(load, requests), { ...place, forMs: load.forMs });
}
