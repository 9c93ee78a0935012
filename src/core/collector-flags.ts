import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Of control groups of version 2: how many microseconds of CPU in how many of time, `max` for any number. */
const CPU_LIMIT_FILE = "/sys/fs/cgroup/cpu.max";

/** @param text of CPU_LIMIT_FILE @returns CPUs, also parts of one; Infinity where nothing is limited, or nothing said */
export function readCpuLimit(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)\s*$/.exec(text) ?? [];
  return quota === undefined || Number(period) === 0
    ? Number.POSITIVE_INFINITY
    : Number(quota) / Number(period);
}

function cpuLimit(): number {
  try {
    return readCpuLimit(readFileSync(CPU_LIMIT_FILE, "latin1"));
  } catch {
    // Another system, or another kind of control groups.
    return Number.POSITIVE_INFINITY;
  }
}

/** What this process and those it starts may have at once, by the cores it may run on and its container's limit. */
export function cpusAtHand(): number {
  return Math.min(availableParallelism(), cpuLimit());
}

/**
 * What Node.js is started with for V8's collector. On one CPU its four helper threads do nothing beside the main thread, only
 * instead of it, 4 ms each by turns: a marking of the API's 57 MB kept the main thread from its core for 12 to 22 ms at a time,
 * 60 to 120 ms in all, and of the 20 ms that it then stood still the helpers had 13. Of the stretches of over 5 ms that
 * they took, 2 to 24 in 4 s of load, none to two are left without them: the main thread marks by itself, in steps. With more CPUs
 * they work where nobody else does, so they stay.
 *
 * They cannot be sent away once Node.js runs: V8 ends the process where marking is told to do without them.
 */
export function collectorFlags(cpus: number): string[] {
  return cpus < 2 ? ["--single-threaded-gc"] : [];
}
