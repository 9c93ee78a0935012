import type { TimelinePoint } from "../tally.ts";
import { writeCount, writeDuration, writeLatency } from "../units.ts";
import { type Chart, escapeHtml, linearAxis, logAxis, ninesAxis, renderChart, type Series } from "./chart.ts";
import type { Report } from "./report.ts";
import { bulkTable, ENDED, latencyTable, outcomeLines, requestTable } from "./text.ts";

/** More points than a screen has room for are joined. */
const POINTS_MAX = 240;

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d5dae0;--paper:#fff;--a:#0b63c5;--b:#b45309;--c:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa5b1;--line:#353c45;--paper:#14181d;--a:#6cb2ff;--b:#f0b35a;--c:#ff8f85}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:920px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p.sub,.none{color:var(--soft);margin:.2rem 0}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child,.words td,.words th{text-align:left}th{color:var(--soft);font-weight:600}
td.deep{padding-left:1rem}figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}.line{fill:none;stroke-width:1.8}
.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.c{stroke:var(--c)}.dot.a{fill:var(--a)}.dot.b{fill:var(--b)}.dot.c{fill:var(--c)}
.legend{display:inline-flex;gap:1rem;list-style:none;margin:0 0 0 1rem;padding:0;font-weight:400}
.legend .a{color:var(--a)}.legend .b{color:var(--b)}.legend .c{color:var(--c)}
.bad{color:var(--c);font-weight:600}.big{display:flex;flex-wrap:wrap;gap:2rem;margin:1rem 0}.big b{display:block;font-size:1.5rem}
`;

function table(rows: readonly (readonly string[])[], kind: "figures" | "words" = "figures"): string {
  const [head = [], ...body] = rows;
  const cell = (text: string, at: number) =>
    `<td${at === 0 && text.startsWith("  ") ? ' class="deep"' : ""}>${escapeHtml(text.trim())}</td>`;
  const lines = body.map((row) => `<tr>${row.map(cell).join("")}</tr>`);
  const top = head.map((text) => `<th>${escapeHtml(text)}</th>`).join("");
  return `<div class="scroll"><table class="${kind}"><thead><tr>${top}</tr></thead><tbody>${lines.join("")}</tbody></table></div>`;
}

/** Several seconds as one: counts as the mean a second, latencies as the worst. */
export function joinPoints(points: readonly TimelinePoint[], most = POINTS_MAX): TimelinePoint[] {
  const each = Math.ceil(points.length / most);
  if (each <= 1) return [...points];
  const worst = (group: readonly TimelinePoint[], of: (point: TimelinePoint) => number | null) =>
    group.reduce<number | null>((found, point) => {
      const us = of(point);
      return us === null ? found : Math.max(found ?? 0, us);
    }, null);
  return Array.from({ length: Math.ceil(points.length / each) }, (_, i) => {
    const group = points.slice(i * each, (i + 1) * each);
    const mean = (of: (point: TimelinePoint) => number) =>
      group.reduce((sum, point) => sum + of(point), 0) / group.length;
    return {
      s: group.at(-1)?.s ?? 0,
      sent: mean(({ sent }) => sent),
      answered: mean(({ answered }) => answered),
      ok: mean(({ ok }) => ok),
      failed: mean(({ failed }) => failed),
      p50Us: worst(group, ({ p50Us }) => p50Us),
      p99Us: worst(group, ({ p99Us }) => p99Us),
      maxUs: worst(group, ({ maxUs }) => maxUs),
    };
  });
}

function seriesOf(
  points: readonly TimelinePoint[],
  name: string,
  tone: string,
  of: (point: TimelinePoint) => number | null,
): Series {
  const found = points.flatMap((point) => {
    const y = of(point);
    return y === null ? [] : [[point.s, y] as const];
  });
  return { name, tone, points: found };
}

const largest = (series: readonly Series[], at: 0 | 1) =>
  series.reduce((most, { points }) => points.reduce((found, point) => Math.max(found, point[at]), most), 0);

function latencyAxis(series: readonly Series[]) {
  const values = series.flatMap(({ points }) => points.map(([, us]) => Math.max(1, us)));
  const least = values.reduce((found, us) => Math.min(found, us), Infinity);
  return logAxis(Number.isFinite(least) ? least : 1, Math.max(10, largest(series, 1)), writeLatency);
}

const seconds = (value: number) => writeDuration(value * 1_000);

function overTime(
  title: string,
  series: readonly Series[],
  axis: (of: readonly Series[]) => Chart["y"],
): string {
  const x = linearAxis(Math.max(1, largest(series, 0)), seconds);
  return renderChart({ title, x, y: axis(series), series });
}

function charts(report: Report): string {
  // The last second may be incomplete, which would look like a dip.
  const whole = report.timeline.length > 1 ? report.timeline.slice(0, -1) : report.timeline;
  const points = joinPoints(whole);
  const curve = [{ name: "results, since due", tone: "a", points: report.curve }];
  const most = report.curve.at(-1)?.[0] ?? 0.9;
  return [
    renderChart({ title: "Latency by percentile", x: ninesAxis(most), y: latencyAxis(curve), series: curve }),
    overTime(
      "Requests a second",
      [
        seriesOf(points, "sent", "b", ({ sent }) => sent),
        seriesOf(points, "results", "a", ({ ok }) => ok),
        seriesOf(points, "failed or refused", "c", ({ failed, answered, ok }) => failed + answered - ok),
      ],
      (series) => linearAxis(Math.max(1, largest(series, 1)), writeCount),
    ),
    overTime(
      "Latency over time",
      [
        seriesOf(points, "p50", "a", ({ p50Us }) => p50Us),
        seriesOf(points, "p99", "b", ({ p99Us }) => p99Us),
        seriesOf(points, "max", "c", ({ maxUs }) => maxUs),
      ],
      latencyAxis,
    ),
  ].join("");
}

function headline({ throughputPerS, latency, requests, ok }: Report): string {
  const errors = requests.sent === 0 ? 0 : (requests.sent - ok) / requests.sent;
  const { p50, p99 } = latency.response.percentiles;
  const figures = [
    [`${writeCount(throughputPerS)}/s`, "results"],
    [p50 === null ? "–" : writeLatency(p50), "p50"],
    [p99 === null ? "–" : writeLatency(p99), "p99"],
    [`${Number((errors * 100).toPrecision(2))} %`, "without a result"],
  ];
  return `<div class="big">${figures
    .map(([figure = "", name = ""]) => `<span><b>${escapeHtml(figure)}</b>${escapeHtml(name)}</span>`)
    .join("")}</div>`;
}

function judged({ thresholds }: Report): string {
  if (thresholds.length === 0) return "";
  const rows = thresholds.map(({ text, figure, holds }) => [
    text,
    figure ?? "nothing was measured",
    holds ? "holds" : "BROKEN",
  ]);
  return `<h2>Bounds</h2>${table([["bound", "figure", ""], ...rows], "words")}`;
}

/** The whole report as one file: no script, no link, nothing that is fetched. All text is escaped. */
export function renderHtml(report: Report): string {
  const hasSingles = report.requests.planned + report.warmUp.planned > 0;
  const parts = [
    `<h1>Load on ${escapeHtml(report.configuration[0]?.[1] ?? "")}</h1>`,
    `<p class="sub">${escapeHtml(report.startedAt)} to ${escapeHtml(report.endedAt)}; ended because ${ENDED[report.ended]}.</p>`,
    ...report.faults.map((fault) => `<p class="bad">Does not add up: ${escapeHtml(fault)}</p>`),
    hasSingles ? headline(report) : "",
    ...report.notes.map((note) => `<p>${escapeHtml(note)}</p>`),
    judged(report),
    hasSingles ? `<h2>Requests</h2>${table(requestTable(report))}` : "",
    `<h2>Outcome</h2>${table([["", ""], ...outcomeLines(report)], "words")}`,
    report.requests.answered > 0 ? `<h2>Latency</h2>${table(latencyTable(report))}${charts(report)}` : "",
    report.bulk.length > 0 ? `<h2>Bulk jobs</h2>${table(bulkTable(report.bulk), "words")}` : "",
    `<h2>Configuration</h2>${table([["", ""], ...report.configuration], "words")}`,
  ];
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rcpt load</title>` +
    `<meta name="viewport" content="width=device-width,initial-scale=1"><meta http-equiv="Content-Security-Policy" ` +
    `content="default-src 'none'; style-src 'unsafe-inline'"><style>${STYLE}</style></head><body>${parts.join("\n")}</body></html>\n`
  );
}
