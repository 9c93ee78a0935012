import { readFileSync } from "node:fs";
import type { Summary } from "../report/figures.ts";
import type { Target } from "../report/target.ts";

/** At both ends of a run, where it is not looked at how busy the server is: connecting and hanging up are no part of it. */
const EDGE_MS = 200;
/** A server that waits pays more a request, since it gathers less work a turn. */
const BUSY = 0.95;

/** Why figures of servers that should have been busy all the while do not count; null: they do. */
export function idleReason(...servers: readonly Summary[]): string | null {
  const least = Math.min(...servers.map(({ busy }) => busy));
  return least >= BUSY ? null : `a server was busy for ${Math.round(least * 100)} % of the time only`;
}

/** One that answers nobody in half of its runs takes endless CPU for each: whoever is beside it would have reached anything. */
function muteReason(...servers: readonly Summary[]): string | null {
  return servers.every(({ perS, cpuUs }) => perS > 0 && Number.isFinite(cpuUs))
    ? null
    : "a server answered nobody";
}

/** The ceiling's CPU time over ours; no figure where one of the two was not busy all the while, or answered nobody. */
export function busyShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const reason = muteReason(whole, ceiling) ?? idleReason(whole, ceiling);
  return reason === null ? { figure: ceiling.cpuUs / whole.cpuUs } : { figure: null, reason };
}

/** A ceiling that was busy for less is none, whatever is taken off it. */
const NEARLY_BUSY = 0.9;

/**
 * `busyShareOf` where no bound of busyness is set, by which side the error is on. Ours that waits pays more a request: that is
 * against us, and stays. The ceiling that waits pays more as well, which is in our favour: so it is counted as if it had done what it
 * did in the share of its CPU for which it was busy.
 */
export function loweredShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const { busy, cpuUs } = ceiling;
  const mute = muteReason(whole, ceiling);
  if (mute !== null) return { figure: null, reason: mute };
  if (!(busy >= NEARLY_BUSY))
    return { figure: null, reason: `the ceiling was busy for ${Math.round(busy * 100)} % of the time only` };
  return { figure: (cpuUs * (busy < BUSY ? busy : 1)) / whole.cpuUs };
}

/** What is to be said of it; null: nothing. */
export function loweredNote({ busy }: Summary): string | null {
  if (busy >= BUSY || !(busy >= NEARLY_BUSY)) return null;
  const share = `${Math.round(busy * 100)} %`;
  return `the ceiling was busy for ${share} of the time, and is counted for ${share} of its CPU a request: who waits pays more`;
}

/** CPU microseconds of all threads of a process, and when it said so, milliseconds of its own clock. */
export interface Usage extends NodeJS.CpuUsage {
  atMs: number;
  /** Milliseconds that its main thread ran, or waited for a core that others had. */
  wantedMs: number;
}

/** Of this process. Read where the time is read: an answer waits its turn in a process that is busy. */
export function usageNow(): Usage {
  // Nanoseconds on a core, nanoseconds in its queue, turns.
  const [ranNs = 0, waitedNs = 0] = readFileSync("/proc/self/schedstat", "latin1").split(" ").map(Number);
  return { ...process.cpuUsage(), atMs: performance.now(), wantedMs: (ranNs + waitedNs) / 1e6 };
}

/** Microseconds. */
export function cpuBetween(from: NodeJS.CpuUsage, to: NodeJS.CpuUsage): number {
  return to.user + to.system - from.user - from.system;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * How much of the time a server had work, in the middle of a run that begins now: CPU of all its threads over wall time, or
 * what its main thread ran and waited for its core, whichever is more. Others are on that core as well (its own collector's
 * threads, Redis, Postgres, the kernel's): who waits for them is not idle.
 */
export async function busyWithin(usage: () => Promise<Usage>, runMs: number): Promise<number> {
  await pause(EDGE_MS);
  const from = await usage();
  await pause(runMs - 2 * EDGE_MS);
  const to = await usage();
  return busyBetween(from, to);
}

export function busyBetween(from: Usage, to: Usage): number {
  return Math.max(cpuBetween(from, to) / 1_000, to.wantedMs - from.wantedMs) / (to.atMs - from.atMs);
}
