import { readdirSync, readFileSync } from "node:fs";
import { commandOf, parentOf } from "../processes.mjs";

/** The most memory that processes of one name ever had resident, each by itself. */
export interface PeakMemory {
  name: string;
  processes: number;
  /** Peak of the largest process. */
  peakMib: number;
}

/** `VmHWM` of /proc/PID/status, in MiB; null where the system does not tell. */
export function peakMibOf(pid: number): number | null {
  try {
    const found = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return found === null ? null : Math.round(Number(found[1]) / 1024);
  } catch {
    return null;
  }
}

function roleOf(pid: number): string | null {
  try {
    const entries = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return entries.find((entry) => entry.startsWith("ROLE="))?.slice("ROLE=".length) ?? null;
  } catch {
    return null;
  }
}

function nameOf(pid: number): string {
  if (pid === process.pid) return "the demo and its mail servers";
  const command = commandOf(pid);
  if (command.includes("main.")) return `role ${roleOf(pid) ?? "all"}`;
  if (command.startsWith("postgres:")) return "postgres, a connection or chore";
  const [program = "", ...rest] = command.split(" ");
  const script = rest.find((word) => /\.(ts|mjs|js)$/.test(word));
  return (script ?? program).split("/").slice(-2).join("/");
}

function isBelow(pid: number, ancestor: number): boolean {
  for (let at: number | null = pid; at !== null && at > 1; at = parentOf(at))
    if (at === ancestor) return true;
  return false;
}

/** This process and all that it started, by name, the largest first. Linux only: elsewhere there is nothing to read. */
export function peaksOfAll(): PeakMemory[] {
  if (process.platform !== "linux") return [];
  const peaks = new Map<string, PeakMemory>();
  for (const pid of readdirSync("/proc").map(Number)) {
    const peakMib = Number.isInteger(pid) && isBelow(pid, process.pid) ? peakMibOf(pid) : null;
    if (peakMib === null) continue;
    const name = nameOf(pid);
    const known = peaks.get(name) ?? { name, processes: 0, peakMib: 0 };
    peaks.set(name, { name, processes: known.processes + 1, peakMib: Math.max(known.peakMib, peakMib) });
  }
  return [...peaks.values()].sort((a, b) => b.peakMib - a.peakMib);
}
