import { relative } from "node:path";
import type { Report } from "./reporter.ts";
import type { FileRun } from "./run-files.ts";
import type { ToSources } from "./sources.ts";

const SLOWEST = 10;

type Of<T extends Report["type"]> = Extract<Report, { type: T }>;

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`);
}

/** A failure: where and what, and the error. */
function failureLines({ at, name, error }: Of<"fail">, toSources: ToSources): string[] {
  const where = at === null ? "" : `${toSources(at).replace(/:\d+$/, "")} `;
  return [`not ok ${where}${name}`, ...indented(toSources(error)), ""];
}

function testLines({ reports }: FileRun): string[] {
  const marks = { pass: "✔", skip: "﹣", fail: "✖" };
  return reports.flatMap((test) => {
    if (test.type === "start" || test.type === "remark" || test.type === "end") return [];
    const time = test.type === "fail" ? "" : ` (${test.ms.toFixed(0)} ms)`;
    return [`${"  ".repeat(test.nesting + 1)}${marks[test.type]} ${test.name}${time}`];
  });
}

/**
 * Lines to print for a file that has ended: its failures and its standard error; on a terminal also each of its tests
 * and its standard output.
 */
export function fileLines(run: FileRun, root: string, toSources: ToSources, isTerminal: boolean): string[] {
  const name = relative(root, run.file);
  const tests = isTerminal ? [`${name} (${run.seconds.toFixed(1)} s)`, ...testLines(run)] : [];
  const failures = run.reports.flatMap((report) =>
    report.type === "fail" && !report.isByTests ? failureLines(report, toSources) : [],
  );
  const fault = run.fault === null ? [] : [`not ok ${name}`, ...indented(toSources(run.fault)), ""];
  const output = isTerminal && run.stdout !== "" ? [`${name} wrote`, ...indented(run.stdout)] : [];
  const errors =
    run.stderr === "" ? [] : [`${name} wrote to standard error`, ...indented(toSources(run.stderr)), ""];
  return [...tests, ...output, ...failures, ...fault, ...errors];
}

/** The files that took longest, by the clock, each with its seconds. */
export function slowestLines(runs: FileRun[], root: string): string[] {
  const slowest = runs.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const lines = slowest.map(
    ({ seconds, file }) => `${seconds.toFixed(1).padStart(7)} s  ${relative(root, file)}`,
  );
  return slowest.length === 0 ? [] : ["slowest files:", ...lines];
}

/** How many tests and suites were skipped, by what they say of it. */
export function skippedLines(runs: readonly FileRun[]): string[] {
  const counts = new Map<string, number>();
  for (const report of runs.flatMap(({ reports }) => reports))
    if (report.type === "skip") counts.set(report.why, (counts.get(report.why) ?? 0) + 1);
  return [...counts].map(([why, count]) => `skipped ${count}${why === "" ? "" : `: ${why}`}`);
}
