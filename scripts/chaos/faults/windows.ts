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

/** A failed request. */
export interface Failure {
  /** A status of 500 and above, or how the connection failed: `refused`, `cut`, `timeout`. */
  how: number | "refused" | "cut" | "timeout";
  /** The error code of the answer; null without one. */
  code: string | null;
  /** The process that was asked; null: any, through a balancer. */
  target: string | null;
  fromMs: number;
  toMs: number;
  /** Dependency of the request: a single verification needs the database; others need object storage too. */
  needs: "database" | "objects";
}

/** The kind of outage that explains a failure; null: none does, so it is our fault. */
export type Cause = Outage["kind"] | null;

/** Kinds that affect one process; all others affect every process. */
const OF_ONE: readonly Outage["kind"][] = ["kill", "stall", "roll"];
const RESTARTED: readonly Outage["kind"][] = ["postgres-restart", "postgres-crash"];
const DATABASE: readonly Outage["kind"][] = [...RESTARTED, "slow-machine"];
const OBJECTS: readonly Outage["kind"][] = ["objects-fail", "objects-stall", "objects-cut"];

/**
 * Kinds of outage that can explain a failure. A connection fails only with its process. A 503 with our code says that a
 * dependency is down; one without a code comes from a balancer that has no ready backend. Nothing explains any other
 * failure.
 */
function kindsThatExplain({ how, code, target, needs }: Failure): readonly Outage["kind"][] {
  const stores = needs === "objects" ? [...DATABASE, ...OBJECTS] : DATABASE;
  // A client that connects to a process without a balancer is refused between its end and its successor's start.
  if (how === "refused") return target === null ? [] : ["kill", "roll"];
  if (how === "cut") return ["kill"];
  if (how === "timeout") return ["kill", "stall", ...stores];
  if (how === 503 && (code === "unavailable" || code === "overloaded")) return [...stores, "stall"];
  const isBalancers = target === null && code === null;
  return isBalancers && [502, 503, 504].includes(how) ? ["kill", "stall", ...DATABASE] : [];
}

/**
 * Whether the outage affected the process that was asked; for requests through the balancer, any process of the API.
 */
function isOfThose(outage: Outage, { target }: Failure): boolean {
  if (!OF_ONE.includes(outage.kind)) return true;
  return target === null ? outage.target.startsWith("api-") : outage.target === target;
}

function overlaps(outage: Outage, failure: Failure, graceMs: number): boolean {
  return outage.fromMs <= failure.toMs && outage.toMs + graceMs >= failure.fromMs;
}

/**
 * The outage that explains a failure: of a matching kind, of the process asked where the kind affects one process, and
 * during the request or up to `graceMs` before it.
 */
export function causeOf(failure: Failure, outages: readonly Outage[], graceMs: number): Cause {
  const kinds = kindsThatExplain(failure);
  const found = outages.filter(
    (outage) =>
      kinds.includes(outage.kind) && isOfThose(outage, failure) && overlaps(outage, failure, graceMs),
  );
  // "slow-machine" is the cause only if no injected fault explains the failure.
  return (found.find(({ kind }) => kind !== "slow-machine") ?? found[0])?.kind ?? null;
}

/** Exit of src/main.ts when it gave up waiting for Postgres. Any other exit is a crash, or a wrong setting. */
const UNAVAILABLE = `exit code ${EXIT.unavailable}`;

/** Whether a process started at `fromMs`, which ended before it served, ended because the database was down. */
export function mayStartAgain(how: string, outages: readonly Outage[], fromMs: number): boolean {
  return how === UNAVAILABLE && databaseWasAway(outages, fromMs);
}

/** Whether the database was down at some time since `fromMs`. */
export function databaseWasAway(outages: readonly Outage[], fromMs: number): boolean {
  return outages.some(({ kind, toMs }) => RESTARTED.includes(kind) && toMs >= fromMs);
}

/** Failures by the outage that explains them; `unexplained` without one. */
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
