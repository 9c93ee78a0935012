import { LIMITS } from "../bounds.ts";
import { PERCENTILES, type Percentile } from "../latency.ts";
import { UsageError, writeCount, writeLatency, writeShare } from "../units.ts";
import type { ReportFigures } from "./report-figures.ts";

type Comparison = "<" | "<=" | ">" | ">=";

/** A condition on which the command fails unless it holds: `p99<50ms`. */
export interface Threshold {
  /** As it was given. */
  text: string;
  metric: string;
  comparison: Comparison;
  /** Microseconds, a count, a rate, or a share of 1. */
  value: number;
  isShare: boolean;
}

export interface Judged {
  text: string;
  /** The measured value, ready to print; null: nothing was measured, so it does not hold. */
  figure: string | null;
  holds: boolean;
}

const LATENCIES: ReadonlySet<string> = new Set([...PERCENTILES.map((p) => `p${p}`), "mean", "max"]);
/** Shares of all requests sent; `unsent` and `held` are of all planned ones, `cached` is of all results. */
const COUNTS: ReadonlySet<string> = new Set(["errors", "failed", "cut", "unsent", "held", "cached"]);
const FIGURES: ReadonlySet<string> = new Set(["rate", "bulk.failed", "bulk.rows_per_s"]);
const STATUS = /^(?:[2345]xx|[2345]\d\d)$/;
const US_OF: Record<string, number> = { us: 1, ms: 1_000, s: 1_000_000 };

const KNOWN = `p50 … p99.99, mean, max, ${[...COUNTS, ...FIGURES].join(", ")}, or a status such as 429 or 5xx`;

function parseOne(text: string): Threshold {
  const [, metric = "", comparison, figure, unit = ""] =
    /^([a-z0-9._]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(us|ms|s|%)?$/.exec(text) ?? [];
  if (comparison === undefined)
    throw new UsageError(`--fail-on takes bounds such as p99<50ms or errors<0.1%, not "${text}"`);
  const isLatency = LATENCIES.has(metric);
  const isCount = COUNTS.has(metric) || STATUS.test(metric);
  if (!isLatency && !isCount && !FIGURES.has(metric))
    throw new UsageError(`--fail-on knows no "${metric}": ${KNOWN}`);
  if (isLatency !== unit in US_OF)
    throw new UsageError(`--fail-on ${metric} takes ${isLatency ? "a latency such as 50ms" : "no time"}`);
  if (unit === "%" && !isCount) throw new UsageError(`--fail-on ${metric} takes no percentage`);
  const value = isLatency ? Number(figure) * (US_OF[unit] ?? 1) : Number(figure) / (unit === "%" ? 100 : 1);
  return { text, metric, comparison: comparison as Comparison, value, isShare: unit === "%" };
}

/** @param text bounds between commas, e.g. `p99<50ms,errors<0.1%,rate>=190` */
export function parseThresholds(text: string): Threshold[] {
  const found = text.split(",").map((bound) => parseOne(bound.trim()));
  if (found.length > LIMITS.thresholds)
    throw new UsageError(`--fail-on takes ${LIMITS.thresholds} bounds at most`);
  return found;
}

function compare(figure: number, comparison: Comparison, value: number): boolean {
  if (comparison === "<") return figure < value;
  if (comparison === "<=") return figure <= value;
  return comparison === ">" ? figure > value : figure >= value;
}

function statusCount(statuses: Record<string, number>, metric: string): number {
  const prefix = metric.endsWith("xx") ? metric.slice(0, 1) : metric;
  return Object.entries(statuses).reduce((sum, [status, n]) => sum + (status.startsWith(prefix) ? n : 0), 0);
}

/** The count of a metric, and the count of which the metric is a share. */
function countOf(metric: string, { requests, ok, statuses, cached }: ReportFigures): [number, number] {
  const { sent, planned, answered, failed, cut, unsent, heldBack } = requests;
  if (metric === "errors") return [failed + cut + answered - ok, sent];
  if (metric === "failed") return [failed, sent];
  if (metric === "cut") return [cut, sent];
  if (metric === "unsent") return [unsent, planned];
  if (metric === "held") return [heldBack, planned];
  if (metric === "cached") return [cached.yes, cached.yes + cached.no];
  return [statusCount(statuses, metric), sent];
}

/** @returns null: there is nothing to measure it by */
function figureOf({ metric, isShare }: Threshold, report: ReportFigures): number | null {
  const { latency, throughputPerS, bulk, requests } = report;
  if (metric === "mean") return latency.response.meanUs;
  if (metric === "max") return latency.response.maxUs;
  if (LATENCIES.has(metric)) return latency.response.percentiles[metric as Percentile];
  if (metric === "rate") return requests.sent === 0 ? null : throughputPerS;
  if (metric === "bulk.failed")
    return bulk.length === 0 ? null : bulk.filter(({ fault }) => fault !== null).length;
  if (metric === "bulk.rows_per_s") {
    const paces = bulk.flatMap(({ rowsPerS }) => (rowsPerS === null ? [] : [rowsPerS]));
    return paces.length === 0 ? null : Math.min(...paces);
  }
  const [count, all] = countOf(metric, report);
  if (all === 0) return null;
  return isShare ? count / all : count;
}

function written({ metric, isShare }: Threshold, figure: number): string {
  if (LATENCIES.has(metric)) return writeLatency(figure);
  return isShare ? writeShare(figure) : writeCount(figure);
}

export function judge(thresholds: readonly Threshold[], report: ReportFigures): Judged[] {
  return thresholds.map((threshold) => {
    const figure = figureOf(threshold, report);
    return {
      text: threshold.text,
      figure: figure === null ? null : written(threshold, figure),
      holds: figure !== null && compare(figure, threshold.comparison, threshold.value),
    };
  });
}
