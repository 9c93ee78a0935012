import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { failures } from "./report.ts";

/** No file may hang the run. Far above what any takes, on the slowest machine, should it wait for midnight besides. */
const FILE_TIMEOUT_MS = 600_000;

/** More files at once than cores: scenarios wait for timers and each other's processes for a third of their time. */
const SPARE_FILES = 1;

export interface Totals {
  passed: number;
  failed: number;
}

/**
 * Runs each file in a process of its own, a few at once, and reports on standard output: every test on a terminal,
 * else files and failures only. Skipped and todo tests count as neither passed nor failed.
 *
 * @param stop ends the files that run and starts no more.
 */
export async function runTestFiles(files: string[], stop: AbortSignal): Promise<Totals> {
  const totals = { passed: 0, failed: 0 };
  if (files.length === 0) return totals;
  // Every file listens for the stop.
  setMaxListeners(0, stop);
  const concurrency = availableParallelism() + SPARE_FILES;
  const events = run({ files, concurrency, timeout: FILE_TIMEOUT_MS, signal: stop });
  events.on("test:pass", ({ details, skip, todo }) => {
    if (details.type !== "suite" && skip === undefined && todo === undefined) totals.passed++;
  });
  events.on("test:fail", ({ details, todo }) => {
    if (details.type !== "suite" && todo === undefined) totals.failed++;
  });
  const isTerminal = process.stdout.isTTY === true && process.env.CI === undefined;
  const report = isTerminal ? events.compose(new spec()) : events.compose(failures);
  report.pipe(process.stdout, { end: false });
  await finished(report);
  return totals;
}
