import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import type { CompiledTests } from "./compile.ts";
import { inProcesses } from "./files.ts";
import { fileLines } from "./report.ts";
import { type FileRun, runFiles } from "./run-files.ts";
import { createToSources } from "./sources.ts";

/** Scenarios mostly wait for timers, leases and each other's processes: two at once for each core keep it busy. */
const FILES_PER_CORE = 2;
/** One more, for moments in which all of those wait. */
const SPARE_FILES = 1;

export interface Totals {
  passed: number;
  failed: number;
  /** In the order in which they ended. */
  runs: FileRun[];
}

/** Counts tests, without suites and skipped tests; a file that crashed or hung counts as one failed test. */
function count(runs: FileRun[]): Totals {
  const tests = runs.flatMap(({ reports }) => reports.filter((test) => "isSuite" in test && !test.isSuite));
  const of = (type: string) => tests.filter((test) => test.type === type).length;
  const faults = runs.filter(({ fault }) => fault !== null).length;
  return { passed: of("pass"), failed: of("fail") + faults, runs };
}

/**
 * Runs the files, several in a process and a few processes at once, and reports on standard output: every test on
 * a terminal, else failures only. Skipped and todo tests count as neither passed nor failed.
 *
 * @param files in the order in which they are started
 * @param stop ends the files that run and starts no more.
 */
export async function runTestFiles(
  root: string,
  compiled: CompiledTests,
  files: string[],
  stop: AbortSignal,
): Promise<Totals> {
  // Every file listens for the stop.
  setMaxListeners(0, stop);
  const isTerminal = process.stdout.isTTY === true && process.env.CI === undefined;
  const toSources = createToSources(root, compiled.folder);
  const runs: FileRun[] = [];
  const batches = inProcesses(root, files);
  let next = 0;
  async function takeFiles(): Promise<void> {
    for (;;) {
      const id = next++;
      const batch = batches[id];
      if (batch === undefined || stop.aborted) return;
      for (const run of await runFiles(compiled, batch, id, stop)) {
        runs.push(run);
        for (const line of fileLines(run, root, toSources, isTerminal)) console.log(line);
      }
    }
  }
  const slots = availableParallelism() * FILES_PER_CORE + SPARE_FILES;
  await Promise.all(Array.from({ length: slots }, takeFiles));
  return count(runs);
}
