import { alignColumns } from "../../report/table.ts";
import type { BulkView } from "../bulk-view.ts";
import type { LatencyView } from "../latency.ts";
import { writeCount, writeDuration, writeLatency, writeShare } from "../units.ts";
import type { Report } from "./report.ts";

export const ENDED: Record<Report["ended"], string> = {
  duration: "its time was over",
  requests: "all requests were sent",
  stopped: "it was interrupted",
};

const latency = (us: number | null) => (us === null ? "–" : writeLatency(us));

/** Rows of tables that text and HTML share: the first is the head. */
export function latencyTable(report: Report): string[][] {
  const rows = (name: string, { count, minUs, meanUs, maxUs, percentiles: p }: LatencyView) => [
    name,
    writeCount(count),
    ...[minUs, meanUs, p.p50, p.p90, p.p95, p.p99, p["p99.9"], p["p99.99"], maxUs].map(latency),
  ];
  const kinds = Object.entries(report.kinds).filter(([, { counts }]) => counts.planned > 0);
  const statuses = Object.entries(report.latencyByStatus);
  return [
    ["latency of", "answers", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"],
    rows("results, since due", report.latency.response),
    rows("results, since sent", report.latency.service),
    ...kinds.map(([kind, view]) => rows(`  ${kind}`, view.latency)),
    ...statuses.map(([status, view]) => rows(`status ${status}`, view)),
  ];
}

export function requestTable({ requests, warmUp, kinds }: Report): string[][] {
  const row = (name: string, counts: Report["requests"]) => [
    name,
    ...[
      counts.planned,
      counts.sent,
      counts.answered,
      counts.failed,
      counts.cut,
      counts.unsent,
      counts.heldBack,
    ].map(writeCount),
  ];
  const asked = Object.entries(kinds).filter(([, { counts }]) => counts.planned > 0);
  return [
    ["requests", "planned", "sent", "answered", "failed", "cut", "unsent", "held back"],
    row("measured", requests),
    ...asked.map(([kind, { counts }]) => row(`  ${kind}`, counts)),
    ...(warmUp.planned > 0 ? [row("warm-up", warmUp)] : []),
  ];
}

export function bulkTable(jobs: readonly BulkView[]): string[][] {
  const ms = (value: number | null) => (value === null ? "–" : writeDuration(value));
  return [
    ["bulk job", "rows", "submitted", "end to end", "rows/s", "results read", "tried again", "status", ""],
    ...jobs.map((job) => [
      job.id ?? `no. ${job.number}`,
      writeCount(job.rows),
      ms(job.submitMs),
      ms(job.endToEndMs),
      job.rowsPerS === null ? "–" : writeCount(job.rowsPerS),
      ms(job.downloadMs),
      writeCount(job.triedAgain),
      job.status,
      job.fault ?? "all rows accounted for",
    ]),
  ];
}

export const counted = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${writeCount(count)}`)
    .join(", ");

/** One line for each kind of outcome that occurred. */
export function outcomeLines(report: Report): [name: string, value: string][] {
  const { cached, statuses, codes, failures, verdicts, generator } = report;
  const looked = cached.yes + cached.no;
  const lines: [string, string][] = [
    [
      "results",
      `${writeCount(report.ok)}, ${report.throughputPerS.toFixed(1)}/s over ${writeDuration(report.measuredMs)}`,
    ],
    ["statuses", counted(statuses)],
    ["problems", counted(codes)],
    ["no answer", counted(failures)],
    ["verdicts", counted(verdicts)],
    ["from the cache", looked === 0 ? "" : writeShare(cached.yes / looked)],
    [
      "bulk jobs left out",
      report.bulkLeftOut === 0 ? "" : `${report.bulkLeftOut}: as many as allowed were under way`,
    ],
    ["this tool", `${writeShare(generator.busy)} of a core`],
  ];
  return lines.filter(([, value]) => value !== "");
}

const judgedLine = ({ text, figure, holds }: Report["thresholds"][number]) =>
  `${holds ? "holds " : "BROKEN"}  ${text}  (${figure ?? "nothing was measured"})`;

/** The report for a terminal, without the curve and the timeline. */
export function renderText(report: Report): string {
  const hasSingles = report.requests.planned + report.warmUp.planned > 0;
  const blocks = [
    alignColumns(report.configuration.map(([name, value]) => [name, value])),
    hasSingles ? alignColumns(requestTable(report)) : [],
    alignColumns(outcomeLines(report)),
    report.requests.answered > 0 ? alignColumns(latencyTable(report)) : [],
    report.bulk.length > 0 ? alignColumns(bulkTable(report.bulk)) : [],
    report.thresholds.map(judgedLine),
    [`Ended because ${ENDED[report.ended]}.`, ...report.notes],
    report.faults.map((fault) => `DOES NOT ADD UP: ${fault}`),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}
