import { relative } from "node:path";
import type { CompiledTests } from "./compile.ts";
import { END_OF_FILE, type Report } from "./reporter.ts";
import { faultOf, runProcess } from "./run-process.ts";

/** Result of one test file. */
export interface FileRun {
  /** Path of its source. */
  file: string;
  reports: Report[];
  /**
   * Why it failed besides its tests: it could not be loaded, a hook failed, it crashed, hung, or ended before it had
   * reported all its tests; null: it did not.
   */
  fault: string | null;
  stdout: string;
  stderr: string;
  seconds: number;
}

/** Reports of a file. */
type Part = Pick<FileRun, "reports" | "fault" | "seconds">;

/**
 * Splits reports by file: the suite named after the compiled file holds its tests, and ends the part. `rest` are the
 * reports after the last one.
 */
function partsOf(reports: Report[], names: string[]): { parts: Part[]; rest: Report[] } {
  const parts: Part[] = [];
  let rest: Report[] = [];
  for (const one of reports) {
    const isSuiteOfFile = "name" in one && one.name === names[parts.length];
    if (!isSuiteOfFile) {
      rest.push("nesting" in one ? { ...one, nesting: one.nesting - 1 } : one);
    } else if (one.type !== "start") {
      const fault = one.type === "fail" && !one.isByTests ? one.error : null;
      parts.push({ reports: rest, fault, seconds: one.ms / 1000 });
      rest = [];
    }
  }
  return { parts, rest };
}

/**
 * Runs test files in one process, one after the other, and reports each by itself. If one ends the process, the files
 * after it run in another.
 *
 * @param id unique among the processes that run
 * @param stop ends it
 */
export async function runFiles(
  compiled: CompiledTests,
  files: string[],
  id: number,
  stop: AbortSignal,
): Promise<FileRun[]> {
  if (files.length === 0 || stop.aborted) return [];
  const startedAt = performance.now();
  const names = files.map(compiled.fileOf);
  const run = await runProcess(compiled, names, id, stop);
  const { parts, rest } = partsOf(run.reports, names);
  const [stdout, stderr] = [run.stdout.split(END_OF_FILE), run.stderr.split(END_OF_FILE)];
  // Long outputs lack their beginning, so they are matched from the end.
  const outputsOf = (at: number) => ({
    stdout: stdout.at(at - parts.length - 1) ?? "",
    stderr: stderr.at(at - parts.length - 1) ?? "",
  });
  const runs = files
    .slice(0, parts.length)
    .map((file, at) => partRun(file, parts[at] as Part, outputsOf(at)));
  const fault = faultOf(run.reports, run.exit);
  if (fault === null) return runs;
  const broken = files[parts.length];
  if (broken !== undefined) {
    const seconds = (performance.now() - startedAt) / 1000 - runs.reduce((sum, one) => sum + one.seconds, 0);
    const part = { reports: rest, fault: faultOf(rest, run.exit), seconds };
    runs.push(partRun(broken, part, outputsOf(parts.length)));
    return [...runs, ...(await runFiles(compiled, files.slice(runs.length), id, stop))];
  }
  // An error that came after its test had ended: Node.js names the place of the test, relative to where it runs.
  const named = runs.filter((_, at) => fault.includes(`${relative(process.cwd(), names[at] as string)}:`));
  for (const one of named.length > 0 ? named : runs.slice(-1)) one.fault ??= fault;
  return runs;
}

function partRun(file: string, part: Part, outputs: Pick<FileRun, "stdout" | "stderr">): FileRun {
  return { file, ...part, ...outputs };
}
