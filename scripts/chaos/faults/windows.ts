import { EXIT } from "../../../src/platform/exit-codes.ts";
import type { Kind } from "./faults.ts";

/** A time in which something was away, as it was measured, with the time that is given to recover from it. */
export interface Outage {
  kind: Kind | "slow-machine";
  /** The process or service that was away. */
  target: string;
  fromMs: number;
  /** Infinity while it lasts. */
  toMs: number;
}

/** How a request ended that did not end well. */
export interface Failure {
  /** A status of 500 and above, or how the connection failed: `refused`, `cut`, `timeout`. */
  how: number | "refused" | "cut" | "timeout";
  /** The error code of the answer; null without one. */
  code: string | null;
  /** The process that was asked; null: any, through a balancer. */
  target: string | null;
  fromMs: number;
  toMs: number;
  /** What was asked: a single verification, or what needs object storage too. */
  needs: "database" | "objects";
}

/** What a failure is laid to; null: to nothing, hence to us. */
export type Cause = Outage["kind"] | null;

/** Those that befall one process; others befall all. */
const OF_ONE: readonly Outage["kind"][] = ["kill", "stall", "roll"];
const RESTARTED: readonly Outage["kind"][] = ["postgres-restart", "postgres-crash"];
const DATABASE: readonly Outage["kind"][] = [...RESTARTED, "slow-machine"];
const OBJECTS: readonly Outage["kind"][] = ["objects-fail", "objects-stall", "objects-cut"];

/**
 * A connection fails only with its process; a 503 of ours says that a dependency is away, one without a code is the
 * balancer's, who has nobody to send to. Anything else is never an outage's.
 */
function kindsThatExplain({ how, code, target, needs }: Failure): readonly Outage["kind"][] {
  const stores = needs === "objects" ? [...DATABASE, ...OBJECTS] : DATABASE;
  // Who asks a process by its own address, without a balancer, finds nobody between it and its successor.
  if (how === "refused") return target === null ? [] : ["kill", "roll"];
  if (how === "cut") return ["kill"];
  if (how === "timeout") return ["kill", "stall", ...stores];
  if (how === 503 && (code === "unavailable" || code === "overloaded")) return [...stores, "stall"];
  const isBalancers = target === null && code === null;
  return isBalancers && [502, 503, 504].includes(how) ? ["kill", "stall", ...DATABASE] : [];
}

/** What befell one process explains what was asked of it, or of the balancer before it and its like. */
function isOfThose(outage: Outage, { target }: Failure): boolean {
  if (!OF_ONE.includes(outage.kind)) return true;
  return target === null ? outage.target.startsWith("api-") : outage.target === target;
}

function overlaps(outage: Outage, failure: Failure, graceMs: number): boolean {
  return outage.fromMs <= failure.toMs && outage.toMs + graceMs >= failure.fromMs;
}

/**
 * Lays a failure to the outage that justifies it: one of a kind that can, of the process that was asked where it is a
 * process's, while the request was under way or `graceMs` before it.
 */
export function causeOf(failure: Failure, outages: readonly Outage[], graceMs: number): Cause {
  const kinds = kindsThatExplain(failure);
  const found = outages.filter(
    (outage) =>
      kinds.includes(outage.kind) && isOfThose(outage, failure) && overlaps(outage, failure, graceMs),
  );
  // A machine that is slow is what is left when nothing was done to it.
  return (found.find(({ kind }) => kind !== "slow-machine") ?? found[0])?.kind ?? null;
}

/** How src/main.ts ends when it waited for Postgres in vain. Whatever else it ends by is a crash, or a wrong setting. */
const UNAVAILABLE = `exit code ${EXIT.unavailable}`;

/** Whether a process that was started at `fromMs`, and ended before it served, ended for want of the database. */
export function mayStartAgain(how: string, outages: readonly Outage[], fromMs: number): boolean {
  return how === UNAVAILABLE && databaseWasAway(outages, fromMs);
}

/** Whether the database was away at some time since `fromMs`. */
export function databaseWasAway(outages: readonly Outage[], fromMs: number): boolean {
  return outages.some(({ kind, toMs }) => RESTARTED.includes(kind) && toMs >= fromMs);
}

/** Failures by what they are laid to, `unexplained` where it is nothing. */
export function failuresByCause(
  failures: readonly Failure[],
  outages: readonly Outage[],
  graceMs: number,
): { counts: Map<string, number>; unexplained: Failure[] } {
  const counts = new Map<string, number>();
  const unexplained: Failure[] = [];
  for (const failure of failures) {
    const cause = causeOf(failure, outages, graceMs);
    if (cause === null) unexplained.push(failure);
    const name = `${failure.how}${failure.code === null ? "" : ` ${failure.code}`} by ${cause ?? "nothing"}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return { counts, unexplained };
}
