import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { CompiledTests } from "./compile.ts";
import { END_OF_FILE, REPORTS_FILE, type Report } from "./reporter.ts";

/** No file may hang the run. Far above what any takes, on the slowest machine, should it wait for midnight besides. */
const FILE_TIMEOUT_MS = 600_000;
/** Time that a file gets to end after SIGTERM before it is killed. */
const END_GRACE_MS = 5_000;
/** Time to read its output after its end: a process that it left behind may hold the pipe open. */
const OUTPUT_GRACE_MS = 2_000;
/** Most characters kept of each of its outputs, from the end. */
const OUTPUT_CHARS_MAX = 65_536;

/** End of a process. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It hung, and was ended therefore. */
  isLate: boolean;
}

/** Reports and output of a process. */
export interface ProcessRun {
  reports: Report[];
  exit: Exit;
  stdout: string;
  stderr: string;
}

/** Keeps the last text of a stream. The returned function gives it, once the stream has ended. */
function lastOf(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-OUTPUT_CHARS_MAX);
  });
  return () => text;
}

/** Reads the reporter's lines; a killed process may leave a half-written one. */
function readReports(path: string): Report[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  rmSync(path);
  return lines.map((line) => JSON.parse(line) as Report);
}

/** Why a process failed besides its tests; null: it did not. @param reports its reports, or those of its last file */
export function faultOf(reports: Report[], { code, signal, isLate }: Exit): string | null {
  const last = reports.findLast(({ type }) => type === "start");
  const during = last?.type === "start" ? `; the test last begun is ${JSON.stringify(last.name)}` : "";
  if (isLate) return `it did not end within ${FILE_TIMEOUT_MS / 1000} s${during}`;
  if (signal !== null) return `it was ended by ${signal}${during}`;
  if (!reports.some(({ type }) => type === "end"))
    return `it ended with exit code ${code} before all of its tests were reported${during}`;
  const remarks = reports.flatMap((one) => (one.type === "remark" ? [one.text] : []));
  if (code !== 0 && (remarks.length > 0 || !reports.some(({ type }) => type === "fail")))
    return [`it ended with exit code ${code}`, ...remarks].join("\n");
  return null;
}

/**
 * Runs compiled test files in one process, to its end.
 *
 * @param names paths of them
 * @param id unique among the processes that run
 * @param stop ends it
 */
export async function runProcess(
  compiled: CompiledTests,
  names: string[],
  id: number,
  stop: AbortSignal,
): Promise<ProcessRun> {
  const reportsFile = join(compiled.folder, `reports-${id}.jsonl`);
  const flags = [
    // Mock timers warn of themselves in each file.
    "--disable-warning=ExperimentalWarning",
    `--test-reporter=${compiled.reporter}`,
    "--test-reporter-destination=stdout",
  ];
  const child = spawn(process.execPath, [...flags, compiled.together, ...names], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, [REPORTS_FILE]: reportsFile },
  });
  const stdout = lastOf(child.stdout);
  const stderr = lastOf(child.stderr);
  let isLate = false;
  let kill: NodeJS.Timeout | undefined;
  const end = () => {
    child.kill("SIGTERM");
    kill ??= setTimeout(() => child.kill("SIGKILL"), END_GRACE_MS);
  };
  const late = setTimeout(() => {
    isLate = true;
    end();
  }, FILE_TIMEOUT_MS);
  // The bound is of each file.
  child.stdout.on("data", (chunk: string) => {
    if (chunk.includes(END_OF_FILE)) late.refresh();
  });
  stop.addEventListener("abort", end);
  try {
    const closed = once(child, "close");
    // A process that cannot be started is an error of both; the one below is enough.
    closed.catch(() => undefined);
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    await Promise.race([closed, wait(OUTPUT_GRACE_MS, undefined, { ref: false })]);
    const reports = readReports(reportsFile);
    return {
      reports,
      exit: { code, signal, isLate },
      stdout: stdout(),
      stderr: stderr(),
    };
  } finally {
    clearTimeout(late);
    clearTimeout(kill);
    stop.removeEventListener("abort", end);
  }
}
