import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** In control groups of version 2: microseconds of CPU in microseconds of time, `max` for no limit. */
const CPU_LIMIT_FILE = "/sys/fs/cgroup/cpu.max";

/** @param text of CPU_LIMIT_FILE @returns CPUs, also fractions; Infinity without a limit or a value */
export function parseCpuLimit(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)\s*$/.exec(text) ?? [];
  return quota === undefined || Number(period) === 0
    ? Number.POSITIVE_INFINITY
    : Number(quota) / Number(period);
}

function cpuLimit(): number {
  try {
    return parseCpuLimit(readFileSync(CPU_LIMIT_FILE, "latin1"));
  } catch {
    // Another system, or control groups of version 1.
    return Number.POSITIVE_INFINITY;
  }
}

/** The CPUs that this process and its children may use, by the cores it may run on and its container's limit. */
export function availableCpus(): number {
  return Math.min(availableParallelism(), cpuLimit());
}

/**
 * Flags of Node.js for V8's garbage collector. On one CPU its four helper threads run only instead of the main thread, 4 ms
 * each in turn: marking the API's 57 MB kept the main thread off its core for 12 to 22 ms at a time, 60 to 120 ms in all;
 * the helpers had 13 of the 20 ms that it then stood still. Of the pauses over 5 ms that they caused, 2 to 24 in 4 s of
 * load, none to two are left without them: the main thread marks by itself, in steps. With more CPUs they run where nothing
 * else does, so they stay.
 *
 * They cannot be switched off once Node.js runs: V8 ends the process when marking must do without them.
 */
export function gcFlags(cpus: number): string[] {
  return cpus < 2 ? ["--single-threaded-gc"] : [];
}
