// The reporter of a test file's process: a line of JSON for each thing told of its tests. Failures are written out here, where the
// errors are.
import { openSync, writeSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

const ERROR_LINES = 40;

/** Name of the variable of the environment that has the path of the file to write to. */
export const TOLD_FILE = "RCPT_TEST_TOLD_FILE";

/** Between what the files of one process write to its outputs. */
export const END_OF_FILE = "\0\n";

interface ToldTest {
  name: string;
  nesting: number;
  isSuite: boolean;
  ms: number;
}

/** Events of a test file's process, in order. */
export type Told =
  | { type: "start"; name: string }
  | (ToldTest & { type: "pass" | "skip" })
  /** `isByTests`: it is a suite, and failed only since tests in it did. */
  | (ToldTest & { type: "fail"; at: string | null; error: string; isByTests: boolean })
  /** A message of Node.js about the file, such as an error after its test had ended. */
  | { type: "remark"; text: string }
  /** The tests have ended, and all events are written. */
  | { type: "end" };

function errorText(error: Error): string {
  const lines = inspect(error.cause ?? error, { depth: 4, breakLength: 110 }).split("\n");
  return (lines.length > ERROR_LINES ? [...lines.slice(0, ERROR_LINES), "…"] : lines).join("\n");
}

/** The totals, which are counted from the tests. */
const TOTAL = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

function toldOf(event: TestEvent): Told | null {
  if (event.type === "test:diagnostic" && !TOTAL.test(event.data.message))
    return { type: "remark", text: event.data.message };
  if (event.type === "test:start") return { type: "start", name: event.data.name };
  if (event.type !== "test:pass" && event.type !== "test:fail") return null;
  const { name, nesting, details, skip, todo, file, line, column } = event.data;
  const told = { name, nesting, isSuite: details.type === "suite", ms: details.duration_ms };
  if (skip !== undefined || todo !== undefined) return { ...told, type: "skip" };
  if (event.type === "test:pass") return { ...told, type: "pass" };
  const at = file === undefined ? null : `${file}:${line ?? 1}:${column ?? 1}`;
  const { error } = event.data.details;
  const isByTests = "failureType" in error && error.failureType === "subtestsFailed";
  return { ...told, type: "fail", at, error: errorText(error), isByTests };
}

const awaited = new Map<string, () => void>();
/** Resolves when the outcome of a test of this name has been written. To be called before the test is made. */
export function written(name: string): Promise<void> {
  return new Promise((resolve) => awaited.set(name, resolve));
}

/**
 * Writes the lines to TOLD_FILE itself, and at once: what Node.js is to write for a reporter is lost if a test ends the
 * process soon (Node.js 24).
 */
export default async function* tell(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const file = openSync(process.env[TOLD_FILE] ?? "", "w");
  const write = (told: Told) => writeSync(file, `${JSON.stringify(told)}\n`);
  for await (const event of events) {
    const told = toldOf(event);
    if (told === null) continue;
    write(told);
    if ("nesting" in told) awaited.get(told.name)?.();
  }
  write({ type: "end" });
}
