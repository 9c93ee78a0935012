import { readFileSync } from "node:fs";
import { median } from "../report/figures.ts";
import { familyOf } from "./family.ts";
import { busyShare, cpuMsOf, type MachineTime, machineTime, mainThreadCpuMsOf } from "./process-cpu.ts";

/** Who is who among the processes of a run that nobody here started by itself, by their command lines. */
const SERVICES: readonly (readonly [RegExp, string])[] = [
  [/postgres/, "Postgres"],
  [/redis/, "Redis"],
  [/s3\/main/, "object storage"],
  [/mail-servers|sink/, "mail servers"],
];

/** CPU of everything that belongs to a run, at one moment. */
export interface CpuLook {
  /** Milliseconds by who took them. */
  of: Map<string, number>;
  machine: MachineTime;
}

/** Who took the CPU of some rows. */
export interface CpuShares {
  /** Milliseconds by who took them. */
  of: Map<string, number>;
  /** Of all cores, 0 to 1. */
  busy: number;
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
}

/**
 * Looks at this process and all that descend from it.
 * @param roles names by process id; of each the main thread is told apart
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
 * Who took the CPU, microseconds a row, medians; who took hardly any is left out.
 * @param runs of so many rows each
 */
export function sharesText(rows: number, runs: readonly { shares: CpuShares }[]): string {
  const names = new Set(runs.flatMap(({ shares }) => [...shares.of.keys()]));
  const usOf = (who: string) => (median(runs.map(({ shares }) => shares.of.get(who) ?? 0)) * 1_000) / rows;
  const shares = [...names].map((who) => ({ who, us: usOf(who) })).filter(({ us }) => us >= LEAST_US);
  const told = shares.sort((a, b) => b.us - a.us).map(({ who, us }) => `${who} ${us.toFixed(1)}`);
  const busy = median(runs.map(({ shares }) => shares.busy));
  return `${told.join(", ")}; all cores busy for ${Math.round(busy * 100)} % of the time`;
}
