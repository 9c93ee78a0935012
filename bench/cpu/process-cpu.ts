import { readFileSync } from "node:fs";
import { InvalidRun } from "../report/figures.ts";

/** Linux' own unit of the times in /proc: USER_HZ. */
const TICK_MS = 10;

/** User and system time of a process, all threads counted, milliseconds. @throws InvalidRun where the system does not tell */
export function cpuMsOf(pid: number): number {
  return cpuMsIn(`/proc/${pid}/stat`);
}

/** The same of its main thread alone. */
export function mainThreadCpuMsOf(pid: number): number {
  return cpuMsIn(`/proc/${pid}/task/${pid}/stat`);
}

function cpuMsIn(file: string): number {
  const stat = readProc(file);
  // Behind the name in parentheses: state is the first, utime and stime the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Time of all cores since the machine started: at work, and in all. */
export interface MachineTime {
  busyMs: number;
  allMs: number;
}

/** CPU time of the whole machine. @throws InvalidRun if the system does not report it */
export function machineTime(): MachineTime {
  const [, ...ticks] = (readProc("/proc/stat").split("\n")[0] ?? "").split(/\s+/).map(Number);
  // user, nice, system, idle, iowait, irq, softirq, steal. The later columns (guests) are contained in user.
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks;
  const busy = user + nice + system + irq + softirq + steal;
  return { busyMs: busy * TICK_MS, allMs: (busy + idle + iowait) * TICK_MS };
}

/** The share of all cores that was at work between two looks, 0 to 1. */
export function busyShare(from: MachineTime, to: MachineTime): number {
  return (to.busyMs - from.busyMs) / Math.max(1, to.allMs - from.allMs);
}

function readProc(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new InvalidRun("what a process has used is read from /proc: on Linux, while it lives", {
      cause: error,
    });
  }
}
