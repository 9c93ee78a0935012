import type { Summary } from "./figures.ts";
import type { Target } from "./target.ts";

/** A server that waits pays more a request, since it gathers less work a turn. */
const BUSY = 0.95;

/** The ceiling's CPU time over ours; no figure where one of the two was not busy all the while. */
export function busyShareOf(whole: Summary, ceiling: Summary): Pick<Target, "figure" | "reason"> {
  const least = Math.min(whole.busy, ceiling.busy);
  if (least >= BUSY) return { figure: ceiling.cpuUs / whole.cpuUs };
  return { figure: null, reason: `a server was busy for ${Math.round(least * 100)} % of the time only` };
}
