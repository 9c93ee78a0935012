import type { Summary } from "./figures.ts";
import type { Target } from "./target.ts";

/** At both ends of a run, where it is not looked at how busy the server is: connecting and hanging up are no part of it. */
const EDGE_MS = 200;
/** A server that waits pays more a request, since it gathers less work a turn. */
const BUSY = 0.95;

/** Why figures of servers that should have been busy all the while do not count; null: they do. */
export function idleReason(...servers: readonly Summary[]): string | null {
  const least = Math.min(...servers.map(({ busy }) => busy));
  return least >= BUSY ? null : `a server was busy for ${Math.round(least * 100)} % of the time only`;
}

/** The ceiling's CPU time over ours; no figure where one of the two was not busy all the while. */
export function busyShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const reason = idleReason(whole, ceiling);
  return reason === null ? { figure: ceiling.cpuUs / whole.cpuUs } : { figure: null, reason };
}

/** Microseconds of all threads. */
export function cpuBetween(from: NodeJS.CpuUsage, to: NodeJS.CpuUsage): number {
  return to.user + to.system - from.user - from.system;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** CPU over wall time of a server in the middle of a run that begins now. */
export async function busyWithin(usage: () => Promise<NodeJS.CpuUsage>, runMs: number): Promise<number> {
  const used = async () => ({ cpu: await usage(), atMs: performance.now() });
  await pause(EDGE_MS);
  const from = await used();
  await pause(runMs - 2 * EDGE_MS);
  const to = await used();
  return cpuBetween(from.cpu, to.cpu) / ((to.atMs - from.atMs) * 1_000);
}
