// The reporter of a test file's process: a line of JSON for each thing told of its tests. Failures are written out here, where the
// errors are.
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

const ERROR_LINES = 40;

/** Between what the files of one process write to its outputs. */
export const END_OF_FILE = "\0\n";

/** What a test file's process tells, in the order in which it came. */
export type Told =
  | { type: "start"; name: string }
  | { type: "pass" | "skip"; name: string; nesting: number; isSuite: boolean; ms: number }
  | { type: "fail"; name: string; nesting: number; isSuite: boolean; at: string | null; error: string }
  /** What Node.js says of the file, as of an error that came after its test had ended. */
  | { type: "remark"; text: string }
  /** Its tests are over, and all was told. */
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
  const told = { name, nesting, isSuite: details.type === "suite" };
  if (skip !== undefined || todo !== undefined) return { ...told, type: "skip", ms: details.duration_ms };
  if (event.type === "test:pass") return { ...told, type: "pass", ms: details.duration_ms };
  const at = file === undefined ? null : `${file}:${line ?? 1}:${column ?? 1}`;
  return { ...told, type: "fail", at, error: errorText(event.data.details.error) };
}

export default async function* tell(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    const told = toldOf(event);
    if (told !== null) yield `${JSON.stringify(told)}\n`;
  }
  yield `${JSON.stringify({ type: "end" } satisfies Told)}\n`;
}
