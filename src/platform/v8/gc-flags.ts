import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** File of the CPU limit in control groups, version 2: microseconds of CPU in microseconds of time, `max` for no limit. */
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
 * Flags of Node.js for V8's garbage collector. On one CPU its four helper threads compete with the main thread, 4 ms at a
 * time. Marking the API's 57 MB kept the main thread off its core for 12 to 22 ms at a time, 60 to 120 ms in all. The
 * helpers caused 2 to 24 pauses over 5 ms in 4 s of load. Without them at most two were left: the main thread marks in
 * steps. With more CPUs the helpers run on idle cores and stay. They cannot be switched off once Node.js runs: V8 ends the
 * process when marking must do without them.
 */
export function gcFlags(cpus: number): string[] {
  return cpus < 2 ? ["--single-threaded-gc"] : [];
}
