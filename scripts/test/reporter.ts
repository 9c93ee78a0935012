// The reporter of a test file's process: a line of JSON for each event of its tests. Failures are written out here, where the
// errors are.
import { openSync, writeSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

const ERROR_LINES = 40;

/** Name of the variable of the environment that has the path of the file to write to. */
export const REPORTS_FILE = "RCPT_TEST_REPORTS";

/** Between what the files of one process write to its outputs. */
export const END_OF_FILE = "\0\n";

interface TestReport {
  name: string;
  nesting: number;
  isSuite: boolean;
  ms: number;
}

/** Events of a test file's process, in order. */
export type Report =
  | { type: "start"; name: string }
  | (TestReport & { type: "pass" })
  /** `why`: as the test says, or "". */
  | (TestReport & { type: "skip"; why: string })
  /** `isByTests`: it is a suite, and failed only since tests in it did. */
  | (TestReport & { type: "fail"; at: string | null; error: string; isByTests: boolean })
  /** A message of Node.js about the process, such as an error after its test had ended; not what a test says of itself. */
  | { type: "remark"; text: string }
  /** The tests have ended, and all events are written. */
  | { type: "end" };

function errorText(error: Error): string {
  const lines = inspect(error.cause ?? error, { depth: 4, breakLength: 110 }).split("\n");
  return (lines.length > ERROR_LINES ? [...lines.slice(0, ERROR_LINES), "…"] : lines).join("\n");
}

/** The totals, which are counted from the tests. */
const TOTAL = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

function reportOf(event: TestEvent): Report | null {
  const isRemark = event.type === "test:diagnostic" && event.data.nesting === 0;
  if (isRemark && !TOTAL.test(event.data.message)) return { type: "remark", text: event.data.message };
  if (event.type === "test:start") return { type: "start", name: event.data.name };
  if (event.type !== "test:pass" && event.type !== "test:fail") return null;
  const { name, nesting, details, skip, todo, file, line, column } = event.data;
  const report = { name, nesting, isSuite: details.type === "suite", ms: details.duration_ms };
  if (skip !== undefined || todo !== undefined)
    return { ...report, type: "skip", why: typeof skip === "string" ? skip : "" };
  if (event.type === "test:pass") return { ...report, type: "pass" };
  const at = file === undefined ? null : `${file}:${line ?? 1}:${column ?? 1}`;
  const { error } = event.data.details;
  const isByTests = "failureType" in error && error.failureType === "subtestsFailed";
  return { ...report, type: "fail", at, error: errorText(error), isByTests };
}

const awaited = new Map<string, () => void>();
/** Resolves when the outcome of a test of this name has been written. To be called before the test is made. */
export function written(name: string): Promise<void> {
  return new Promise((resolve) => awaited.set(name, resolve));
}

/**
 * Writes the lines to REPORTS_FILE itself, and at once: what Node.js is to write for a reporter is lost if a test ends the
 * process soon (Node.js 24).
 */
export default async function* tell(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const file = openSync(process.env[REPORTS_FILE] ?? "", "w");
  const write = (report: Report) => writeSync(file, `${JSON.stringify(report)}\n`);
  for await (const event of events) {
    const report = reportOf(event);
    if (report === null) continue;
    write(report);
    if ("nesting" in report) awaited.get(report.name)?.();
  }
  write({ type: "end" });
}
