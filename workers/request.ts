import type { MessagePort } from "node:worker_threads";
import { type LargeBodyName, parseLargeBody } from "../src/api/body/large-bodies.ts";
import { analyseInline, type InlineOptions } from "../src/features/bulk/submit/source.ts";
import { finishReport, type ReportTerms } from "../src/features/feedback/finished-report.ts";
import { readFeedbackFile } from "../src/features/feedback/read/file.ts";
import { type JsonEvent, readJsonEvents } from "../src/features/feedback/read/json-events.ts";
import type { TableOptions } from "../src/features/feedback/read/table.ts";
import { readDomains } from "../src/features/overrides/read-domains.ts";
import { type PreviewInput, readPreview } from "../src/features/uploads/read-preview.ts";
import { readsOver } from "../src/features/uploads/remote-bytes.ts";
import { captureOutcome, type TaskOutcome, type ThreadTask } from "../src/platform/request-thread.ts";
import { systemClock } from "../src/platform/time/clock.ts";

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

async function reportOfFile(input: { bytes: Uint8Array; options: TableOptions; terms: ReportTerms }) {
  const { events, ignored } = await readFeedbackFile(bufferOf(input.bytes), input.options);
  const report = finishReport(events, input.terms);
  return { ...report, ignored: report.ignored + ignored };
}

/** By the names that app/request-work.ts asks for, with the inputs it sends. */
const TASKS: Record<string, (input: never) => unknown> = {
  parseBody: ({ name, bytes }: { name: LargeBodyName; bytes: Uint8Array }) => parseLargeBody(name, bytes),
  analyseList: ({ emails, options }: { emails: readonly string[]; options: InlineOptions }) =>
    analyseInline(emails, options),
  readDomains: ({ texts }: { texts: readonly string[] }) => readDomains(texts),
  readPreview: ({ input, port }: { input: PreviewInput; port: MessagePort }) =>
    readPreview(input, readsOver(port)).finally(() => port.close()),
  readFeedbackFile: reportOfFile,
  readFeedbackEvents: ({ events, terms }: { events: readonly JsonEvent[]; terms: ReportTerms }) =>
    finishReport(readJsonEvents(events), terms),
};

/** The API's thread for work that would block its event loop, see platform/request-thread.ts. */
export default function request({ task, input }: ThreadTask): Promise<TaskOutcome<unknown>> {
  const work = TASKS[task];
  if (work === undefined) throw new Error(`there is no task ${task}`);
  return captureOutcome(() => work(input as never), systemClock);
}
