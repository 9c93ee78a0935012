import { readFileSync } from "node:fs";
import { median } from "../report/figures.ts";
import { familyOf } from "./family.ts";
import { busyShare, cpuMsOf, type MachineTime, machineTime, mainThreadCpuMsOf } from "./process-cpu.ts";

/** Names of processes that the run did not start itself, by their command lines. */
const SERVICES: readonly (readonly [RegExp, string])[] = [
  [/postgres/, "Postgres"],
  [/redis/, "Redis"],
  [/s3\/main/, "object storage"],
  [/mail-servers|sink/, "mail servers"],
];

/** CPU of everything that belongs to a run, at one moment. */
export interface CpuLook {
  /** CPU milliseconds by process. */
  of: Map<string, number>;
  machine: MachineTime;
}

/** CPU of some rows by process. */
export interface CpuShares {
  /** CPU milliseconds by process. */
  of: Map<string, number>;
  /** Busy share of all cores, 0 to 1. */
  busy: number;
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
}

/**
 * Reads the CPU of this process and all its descendants.
 * @param roles names by process id; their main threads are counted separately
 */
export function lookAtCpu(roles: ReadonlyMap<number, string>): CpuLook {
  const of = new Map<string, number>();
  const add = (who: string, cpuMs: number) => of.set(who, (of.get(who) ?? 0) + cpuMs);
  for (const pid of familyOf(process.pid)) {
    try {
      const role = roles.get(pid);
      const cpuMs = cpuMsOf(pid);
      if (role !== undefined) {
        const mainMs = mainThreadCpuMsOf(pid);
        add(`${role}, main thread`, mainMs);
        add(`${role}, other threads`, cpuMs - mainMs);
      } else {
        const command = commandOf(pid);
        add(SERVICES.find(([pattern]) => pattern.test(command))?.[1] ?? "the bench", cpuMs);
      }
    } catch {}
  }
  return { of, machine: machineTime() };
}

export function sharesBetween(from: CpuLook, to: CpuLook): CpuShares {
  const of = new Map([...to.of].map(([who, cpuMs]) => [who, cpuMs - (from.of.get(who) ?? 0)]));
  return { of, busy: busyShare(from.machine, to.machine) };
}

const LEAST_US = 0.05;

/**
 * CPU by process, microseconds a row, medians; processes that used hardly any are omitted.
 * @param runs each of so many rows
 */
export function sharesText(rows: number, runs: readonly { shares: CpuShares }[]): string {
  const names = new Set(runs.flatMap(({ shares }) => [...shares.of.keys()]));
  const usOf = (who: string) => (median(runs.map(({ shares }) => shares.of.get(who) ?? 0)) * 1_000) / rows;
  const shares = [...names].map((who) => ({ who, us: usOf(who) })).filter(({ us }) => us >= LEAST_US);
  const told = shares.sort((a, b) => b.us - a.us).map(({ who, us }) => `${who} ${us.toFixed(1)}`);
  const busy = median(runs.map(({ shares }) => shares.busy));
  return `${told.join(", ")}; all cores busy for ${Math.round(busy * 100)} % of the time`;
}
