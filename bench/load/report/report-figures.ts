import type { BulkView } from "../bulk-view.ts";
import type { LatencyView } from "../latency.ts";
import type { Counts } from "../tally.ts";

/** Figures that thresholds apply to. Latencies are of results (2xx) after the warm-up, in microseconds. */
export interface ReportFigures {
  requests: Counts;
  /** Answers that are results (2xx). */
  ok: number;
  /** Answers by status. */
  statuses: Record<string, number>;
  cached: { yes: number; no: number };
  /** Results a second. */
  throughputPerS: number;
  latency: {
    /** From the time at which the request was due: what a caller waits. */
    response: LatencyView;
    /** From the time at which it was sent: what the server took. */
    service: LatencyView;
  };
  bulk: BulkView[];
}
