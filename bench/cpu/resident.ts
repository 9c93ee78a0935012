import { readFileSync } from "node:fs";
import { InvalidRun } from "../report/figures.ts";

/** Resident bytes of a process, now and at their peak. @throws InvalidRun where the system does not show them */
export function residentOf(pid: number): { now: number; peak: number } {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch (error) {
    throw new InvalidRun("what a process has resident is read from /proc: on Linux, while it lives", {
      cause: error,
    });
  }
  const bytesOf = (field: string) => {
    const found = new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(status);
    if (found === null) throw new InvalidRun(`/proc/${pid}/status does not tell ${field}`);
    return Number(found[1]) * 1_024;
  };
  return { now: bytesOf("VmRSS"), peak: bytesOf("VmHWM") };
}
