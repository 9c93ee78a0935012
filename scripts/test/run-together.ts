import { relative } from "node:path";
import type { CompiledTests } from "./compile.ts";
import { type FileRun, faultOf, runFile, runProcess } from "./run-file.ts";
import { END_OF_FILE, type Told } from "./told.ts";

/** Reports of a file that was completed. */
interface Part {
  told: Told[];
  /** Why it could not be loaded; null: it was. */
  fault: string | null;
}

/** Splits reports by file: a test named after the compiled file ends each part. `rest` are reports after the last one. */
function partsOf(told: Told[], names: string[]): { parts: Part[]; rest: Told[] } {
  const parts: Part[] = [];
  let rest: Told[] = [];
  for (const one of told) {
    const isEnd = "name" in one && one.name === names[parts.length];
    // Node.js may report late that the test at the end of a file has begun.
    if (one.type === "start" && names.includes(one.name)) continue;
    if (!isEnd) rest.push(one);
    else if (one.type !== "start") {
      parts.push({ told: rest, fault: one.type === "fail" ? one.error : null });
      rest = [];
    }
  }
  return { parts, rest };
}

/** Seconds of a file, as the sum of its tests: the loading of imports is shared by several files. */
function secondsOf(told: Told[]): number {
  const top = told.flatMap((one) => ("ms" in one && one.nesting === 0 ? [one.ms] : []));
  return top.reduce((sum, ms) => sum + ms, 0) / 1000;
}

/**
 * Runs test files in one process, one after the other, and reports each as if it had run by itself. If one ends the
 * process, the files after it run in another.
 *
 * @param id unique among the processes that run
 * @param stop ends it
 */
export async function runTogether(
  compiled: CompiledTests,
  files: string[],
  id: number,
  stop: AbortSignal,
): Promise<FileRun[]> {
  const [only, ...more] = files;
  if (only === undefined || stop.aborted) return [];
  if (more.length === 0) return [await runFile(compiled, only, id, stop)];
  const names = files.map(compiled.fileOf);
  const run = await runProcess(compiled, [compiled.together, ...names], id, stop);
  const { parts, rest } = partsOf(run.told, names);
  const [stdout, stderr] = [run.stdout.split(END_OF_FILE), run.stderr.split(END_OF_FILE)];
  // Long outputs lack their beginning, so they are matched from the end.
  const outputsOf = (at: number) => ({
    stdout: stdout.at(at - parts.length - 1) ?? "",
    stderr: stderr.at(at - parts.length - 1) ?? "",
  });
  const runs = files
    .slice(0, parts.length)
    .map((file, at) => partRun(file, parts[at] as Part, outputsOf(at)));
  const fault = faultOf(run.told, run.exit);
  if (fault === null) return runs;
  const broken = files[parts.length];
  if (broken !== undefined) {
    runs.push(partRun(broken, { told: rest, fault: faultOf(rest, run.exit) }, outputsOf(parts.length)));
    return [...runs, ...(await runTogether(compiled, files.slice(runs.length), id, stop))];
  }
  // An error that came after its test had ended: Node.js names the place of the test, relative to where it runs.
  const named = runs.filter((_, at) => fault.includes(`${relative(process.cwd(), names[at] as string)}:`));
  for (const one of named.length > 0 ? named : runs.slice(-1)) one.fault ??= fault;
  return runs;
}

function partRun(file: string, part: Part, outputs: { stdout: string; stderr: string }): FileRun {
  return { file, ...part, ...outputs, seconds: secondsOf(part.told) };
}
