import { readFileSync } from "node:fs";
import { InvalidRun } from "../../../bench/figures.ts";

/** What a process' main thread had of its core, and how long it stood in line for one that others had. Milliseconds. */
export interface MainThread {
  ranMs: number;
  waitedMs: number;
}

const NS_PER_MS = 1e6;

/** @throws InvalidRun where the system does not tell, or the process is gone */
export function mainThreadOf(pid: number): MainThread {
  try {
    const [ranNs = 0, waitedNs = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1")
      .split(" ")
      .map(Number);
    return { ranMs: ranNs / NS_PER_MS, waitedMs: waitedNs / NS_PER_MS };
  } catch (error) {
    throw new InvalidRun("what a thread has used is read from /proc: on Linux, while it lives", {
      cause: error,
    });
  }
}

export function since(from: MainThread, to: MainThread): MainThread {
  return { ranMs: to.ranMs - from.ranMs, waitedMs: to.waitedMs - from.waitedMs };
}
