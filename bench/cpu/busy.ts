import { readFileSync } from "node:fs";
import type { Summary } from "../report/figures.ts";
import type { Target } from "../report/target.ts";

/** Time at both ends of a run that is not measured: it includes connecting and disconnecting. */
const EDGE_MS = 200;
/** A server that waits pays more a request, since it gathers less work a turn. */
const BUSY = 0.95;

/** Why figures of servers that should have been busy all the while do not count; null: they do. */
export function idleReason(...servers: readonly Summary[]): string | null {
  const least = Math.min(...servers.map(({ busy }) => busy));
  return least >= BUSY ? null : `a server was busy for ${Math.round(least * 100)} % of the time only`;
}

/**
 * A server that answers nothing in half of its runs has infinite CPU for each answer: any other would look good beside
 * it.
 */
function muteReason(...servers: readonly Summary[]): string | null {
  return servers.every(({ perS, cpuUs }) => perS > 0 && Number.isFinite(cpuUs))
    ? null
    : "a server answered nobody";
}

/** The ceiling's CPU time over ours; no figure where one of the two was not busy all the time, or answered nothing. */
export function busyShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const reason = muteReason(whole, ceiling) ?? idleReason(whole, ceiling);
  return reason === null ? { figure: ceiling.cpuUs / whole.cpuUs } : { figure: null, reason };
}

/** Least busy share of a usable ceiling: below it the correction would be too large. */
const NEARLY_BUSY = 0.9;

/**
 * Like `busyShareOf`, but without a bound on busyness: corrects by the side of the error. When ours waits it pays more
 * a request: that counts against us and is not corrected. When the ceiling waits it pays more too, in our favour: so
 * its CPU is multiplied by the share of time for which it was busy.
 */
export function loweredShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const { busy, cpuUs } = ceiling;
  const mute = muteReason(whole, ceiling);
  if (mute !== null) return { figure: null, reason: mute };
  if (!(busy >= NEARLY_BUSY))
    return { figure: null, reason: `the ceiling was busy for ${Math.round(busy * 100)} % of the time only` };
  return { figure: (cpuUs * (busy < BUSY ? busy : 1)) / whole.cpuUs };
}

/** A note on the correction; null: none was made. */
export function loweredNote({ busy }: Summary): string | null {
  if (busy >= BUSY || !(busy >= NEARLY_BUSY)) return null;
  const share = `${Math.round(busy * 100)} %`;
  return `the ceiling was busy for ${share} of the time, and is counted for ${share} of its CPU a request: who waits pays more`;
}

/** CPU microseconds of all threads of a process, and the time of the reading, in milliseconds of its own clock. */
export interface Usage extends NodeJS.CpuUsage {
  atMs: number;
  /** Milliseconds that its main thread ran, or waited for a core that others had. */
  wantedMs: number;
}

/** Usage of this process. Read together with the time: in a busy process an answer waits for its turn. */
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
 * Share of the time for which a server had work, in the middle of a run that begins now. The larger of two: CPU of all
 * its threads over wall time; and time that its main thread ran or waited for its core. Others use that core as well
 * (its own collector's threads, Redis, Postgres, the kernel): a server that waits for them is not idle.
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
