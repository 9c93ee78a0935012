import { type LargeBodyName, parseLargeBody } from "../src/api/body/large-bodies.ts";
import type { DetectOptions } from "../src/features/bulk/csv/detect.ts";
import { analyseInline, type InlineOptions } from "../src/features/bulk/submit/source.ts";
import { readFeedbackFile } from "../src/features/feedback/read/file.ts";
import { type JsonEvent, readJsonEvents } from "../src/features/feedback/read/json-events.ts";
import type { TableOptions } from "../src/features/feedback/read/table.ts";
import { detectForPreview } from "../src/features/uploads/preview.ts";
import { captureOutcome, type TaskOutcome, type ThreadTask } from "../src/platform/request-thread.ts";

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** By the names that app/request-work.ts asks for, with the inputs it sends. */
const TASKS: Record<string, (input: never) => unknown> = {
  parseBody: ({ name, bytes }: { name: LargeBodyName; bytes: Uint8Array }) => parseLargeBody(name, bytes),
  analyseList: ({ emails, options }: { emails: readonly string[]; options: InlineOptions }) =>
    analyseInline(emails, options),
  detectTable: ({ head, options }: { head: Uint8Array; options: DetectOptions }) =>
    detectForPreview(bufferOf(head), options),
  readFeedbackFile: ({ bytes, options }: { bytes: Uint8Array; options: TableOptions }) =>
    readFeedbackFile(bufferOf(bytes), options),
  readFeedbackEvents: ({ events }: { events: readonly JsonEvent[] }) => readJsonEvents(events),
};

/** The API's thread for work that would block its event loop, see platform/request-thread.ts. */
export default function request({ task, input }: ThreadTask): Promise<TaskOutcome<unknown>> {
  const work = TASKS[task];
  if (work === undefined) throw new Error(`there is no task ${task}`);
  return captureOutcome(() => work(input as never));
}
