import { quantile } from "../../bench/report/figures.ts";
import type { ChildRole } from "../../src/supervisor.ts";
import type { TeamLedger } from "../chaos/verdict/auditing.ts";
import type { ListsOutcome } from "./lists.ts";
import { causesOf, type Line, linesBy, type Sample } from "./tally.ts";

/** Replacement of a process by the next, in milliseconds. */
export interface Restart {
  role: ChildRole;
  /** From SIGTERM to the exit. */
  endedMs: number;
  /** From the start until it serves. */
  startedMs: number;
  /** `exit code 0` when all is well. */
  exit: string;
}

/** Results behind one balancer. */
export interface Pass {
  balancer: string;
  rounds: number;
  seconds: number;
  samples: readonly Sample[];
  restarts: readonly Restart[];
  lists: ListsOutcome;
  /** Units that must have been charged. */
  units: number;
  /** Read when all processes had ended. */
  charges: Pick<TeamLedger, "used" | "leased" | "held">;
}

const count = (value: number) => String(value).padStart(8);
const ms = (value: number) => value.toFixed(value < 100 ? 1 : 0).padStart(9);

const lineText = ({ name, requests, failed, p50Ms, p99Ms }: Line) =>
  `  ${name.padEnd(22)}${count(requests)}${count(failed)}${ms(p50Ms)}${ms(p99Ms)}`;

function restartLines(restarts: readonly Restart[]): string[] {
  const roles = [...new Set(restarts.map(({ role }) => role))];
  return roles.map((role) => {
    const of = restarts.filter((restart) => restart.role === role);
    const down = of.map(({ endedMs }) => endedMs);
    const up = of.map(({ startedMs }) => startedMs);
    const zero = of.filter(({ exit }) => exit === "exit code 0").length;
    const name = role.padEnd(22);
    return `  ${name}${count(of.length)}${count(zero)}${ms(quantile(down, 0.5))}${ms(Math.max(...down))}${ms(quantile(up, 0.5))}`;
  });
}

/** Everything that is not as it must be, in words. */
export function faultsOfPass(pass: Pass): string[] {
  const { charges, units } = pass;
  const faults = [...causesOf(pass.samples)].map(([cause, times]) => `${times} x ${cause}`);
  for (const { role, exit } of pass.restarts) if (exit !== "exit code 0") faults.push(`${role}: ${exit}`);
  faults.push(...pass.lists.faults);
  if (charges.used !== units) faults.push(`${charges.used} units were charged instead of ${units}`);
  if (charges.leased !== 0) faults.push(`${charges.leased} units are still leased`);
  if (charges.held !== 0) faults.push(`${charges.held} units are still held`);
  return faults;
}

export function renderPass(pass: Pass): string {
  const { samples, lists, charges, units, restarts } = pass;
  const serverErrors = samples.filter(({ failure }) => failure?.startsWith("HTTP 5") === true).length;
  const faults = faultsOfPass(pass);
  const rate = Math.round(samples.length / pass.seconds);
  return [
    "",
    `${pass.balancer}: ${pass.rounds} rounds over all roles in ${Math.round(pass.seconds)} s, ${rate} requests/s, none sent twice`,
    "",
    "  by connection         requests  failed   p50 ms   p99 ms",
    ...linesBy(samples, ({ kind }) => kind).map(lineText),
    "",
    "  by request            requests  failed   p50 ms   p99 ms",
    ...linesBy(samples, ({ what }) => what).map(lineText),
    "",
    "  restarts                 count  exit 0  end p50  end max   up p50   (ms)",
    ...restartLines(restarts),
    "",
    `  failed requests ${samples.filter(({ failure }) => failure !== null).length}, of these 5xx ${serverErrors}`,
    `  jobs ${lists.completed} completed of ${lists.jobs}; rows ${lists.rowsIn} in, ${lists.rowsOut} out`,
    `  units ${charges.used} charged of ${units}; ${charges.leased} leased, ${charges.held} held after the end`,
    ...(faults.length === 0 ? ["  nothing failed"] : faults.map((fault) => `  FAULT ${fault}`)),
  ].join("\n");
}
