import { availableParallelism } from "node:os";
import type { BulkView } from "../bulk-view.ts";
import { type CurvePoint, Latencies, type LatencyView } from "../latency.ts";
import type { LoadOptions } from "../options.ts";
import type { LoopEnd } from "../sender.ts";
import type { Counts, Kind, Tally, TimelinePoint } from "../tally.ts";
import { writeCount, writeDuration, writeLatency, writeShare } from "../units.ts";
import type { ReportFigures } from "./report-figures.ts";
import { type Judged, judge } from "./thresholds.ts";

/** Content of `--json`. It never has the key or an address. */
export interface Report extends ReportFigures {
  version: 1;
  startedAt: string;
  endedAt: string;
  /** Why no more was sent. */
  ended: LoopEnd;
  /** As on a command line, without the key. */
  configuration: [name: string, value: string][];
  /** From the end of the warm-up until the last answer, milliseconds. */
  measuredMs: number;
  warmUp: Counts;
  kinds: Record<Kind, { counts: Counts; latency: LatencyView }>;
  /** By status, every answer. */
  latencyByStatus: Record<string, LatencyView>;
  /** Codes of problems. */
  codes: Record<string, number>;
  /** Requests without an answer, by cause. */
  failures: Record<string, number>;
  verdicts: Record<string, number>;
  /** Bulk jobs that were due while as many as allowed were in progress. */
  bulkLeftOut: number;
  curve: CurvePoint[];
  timeline: TimelinePoint[];
  /** This tool's own part. */
  generator: { busy: number; lagP99Us: number | null };
  thresholds: Judged[];
  /** Notes that a reader needs to read the figures correctly. */
  notes: string[];
  /** Inconsistencies; if there are any, the run does not count. */
  faults: string[];
}

/** Data that a run collects. */
export interface RunResult {
  options: LoadOptions;
  tally: Tally;
  bulk: BulkView[];
  bulkLeftOut: number;
  ended: LoopEnd;
  startedAtMs: number;
  endedAtMs: number;
  /** Wall clock of the run, without the wait for bulk jobs, milliseconds. */
  singlesMs: number;
  /** CPU of this process over wall clock. */
  busy: number;
  addresses: string;
  isLive: boolean;
  /** Notes of the code that ran it. */
  notes: string[];
}

/** Above that, the figures are about this tool. */
const BUSY_MAX = 0.9;
/** Usual lateness of an event loop's timer. */
const LAG_MAX_US = 5_000;

function configurationOf({ options, addresses, isLive }: RunResult): [string, string][] {
  const { loop, mix, bulk } = options;
  const rows: [string, string][] = [
    ["deployment", options.origin + options.basePath],
    ["key", isLive ? "live" : "test"],
    ["addresses", addresses],
  ];
  if (loop.kind === "open") {
    rows.push(["loop", `open, ${writeCount(loop.rate)}/s, ${loop.arrivals} arrivals`]);
    rows.push(["backlog", writeCount(loop.backlog)]);
  } else if (loop.kind === "closed") rows.push(["loop", "closed"]);
  else rows.push(["loop", "none: bulk jobs only"]);
  rows.push(["connections", writeCount(options.connections)], ["ramp", options.ramp ?? "none"]);
  rows.push(
    ["duration", writeDuration(options.durationMs)],
    ["warm-up", options.warmUpMs === 0 ? "none" : writeDuration(options.warmUpMs)],
  );
  rows.push(
    ["requests at most", writeCount(options.requests)],
    ["timeout", writeDuration(options.timeoutMs)],
  );
  rows.push(["repeated", writeShare(mix.repeat)], ["refresh", writeShare(mix.refresh)]);
  rows.push(["evidence", writeShare(mix.evidence)], ["addresses repeated", writeCount(options.hot)]);
  rows.push(["Retry-After", options.heedRetryAfter ? "heeded" : "ignored"]);
  if (bulk !== null)
    rows.push(["bulk", `${writeCount(bulk.rows)} rows every ${writeDuration(bulk.everyMs)}, by ${bulk.way}`]);
  rows.push(
    ["seed", String(options.seed)],
    ["machine", `${availableParallelism()} cores, Node.js ${process.versions.node}`],
  );
  return rows;
}

function notesOf({ tally, busy, notes, options }: RunResult): string[] {
  const { unsent, cut, planned } = tally.measured;
  const found = [...notes];
  if (unsent > 0)
    found.push(
      `${writeCount(unsent)} of ${writeCount(planned)} requests could not be sent: no connection was free for them. ` +
        "The deployment was slower than the rate, or --connections is too low; latencies are without these.",
    );
  if (cut > 0) found.push(`${writeCount(cut)} requests were under way at the end and have no latency.`);
  if (busy > BUSY_MAX)
    found.push(`This tool was ${writeShare(busy)} busy: it may have been the limit, not the deployment.`);
  const lag = tally.lag.percentile(99);
  if (options.loop.kind === "open" && lag !== null && lag > LAG_MAX_US)
    found.push(
      `This tool sent late by its own fault (p99 ${writeLatency(lag)}): response times include that.`,
    );
  return found;
}

const viewsOf = (latencies: ReadonlyMap<string, Latencies>) =>
  Object.fromEntries([...latencies].sort().map(([name, of]) => [name, of.view()]));

const iso = (ms: number) => new Date(ms).toISOString();

/** Pure but for the machine's description. */
export function reportOf(run: RunResult): Report {
  const { tally, options } = run;
  const measuredMs = Math.max(1, run.singlesMs - options.warmUpMs);
  const response = tally.response.view();
  const figures: ReportFigures = {
    requests: tally.measured,
    ok: response.count,
    statuses: tally.statuses.view(),
    cached: { yes: tally.cached.of("yes"), no: tally.cached.of("no") },
    throughputPerS: (response.count * 1_000) / measuredMs,
    latency: { response, service: tally.service.view() },
    bulk: run.bulk,
  };
  const kinds = Object.entries(tally.byKind).map(([kind, counts]) => {
    const latency = tally.latencyOfKind.get(kind as Kind)?.view() ?? new Latencies().view();
    return [kind, { counts, latency }] as const;
  });
  return {
    version: 1,
    startedAt: iso(run.startedAtMs),
    endedAt: iso(run.endedAtMs),
    ended: run.ended,
    configuration: configurationOf(run),
    measuredMs,
    ...figures,
    warmUp: tally.warmUp,
    kinds: Object.fromEntries(kinds) as Report["kinds"],
    latencyByStatus: viewsOf(tally.latencyOfStatus),
    codes: tally.codes.view(),
    failures: tally.failures.view(),
    verdicts: tally.verdicts.view(),
    bulkLeftOut: run.bulkLeftOut,
    curve: tally.response.curve(),
    timeline: tally.timeline,
    generator: { busy: run.busy, lagP99Us: tally.lag.percentile(99) },
    thresholds: judge(options.thresholds, figures),
    notes: notesOf(run),
    faults: tally.faults(),
  };
}
