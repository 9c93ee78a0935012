import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

const ERROR_LINES = 40;
const DIAGNOSTIC_LINES = 200;

/** One failure: its file and name, and the error, at most `ERROR_LINES` of it. */
function describe(event: Extract<TestEvent, { type: "test:fail" }>): string {
  const { name, file, line, details } = event.data;
  const error = details.error.cause ?? details.error;
  const lines = inspect(error, { depth: 4, breakLength: 110 }).split("\n");
  const cut = lines.length > ERROR_LINES ? [...lines.slice(0, ERROR_LINES), "…"] : lines;
  const where = file === undefined ? "" : `${relative(process.cwd(), file)}:${line ?? 0} `;
  return [`not ok ${where}${name}`, ...cut.map((text) => `    ${text}`), ""].join("\n");
}

/** A reporter for logs: failures as they come, what tests wrote to standard error, nothing of what passes. */
export async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let diagnostics = 0;
  for await (const event of events) {
    if (event.type === "test:fail" && event.data.todo === undefined) yield `${describe(event)}\n`;
    if (event.type === "test:stderr" && diagnostics++ < DIAGNOSTIC_LINES) yield event.data.message;
  }
}
