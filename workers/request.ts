import { captureOutcome, type TaskOutcome, type ThreadTask } from "../src/core/request-thread.ts";
import { type LargeBodyName, parseLargeBody } from "../src/http/large-bodies.ts";
import type { DetectOptions } from "../src/services/bulk/csv/detect.ts";
import { analyseInline, type InlineOptions } from "../src/services/bulk/source.ts";
import { detectForPreview } from "../src/services/uploads/preview.ts";

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** By the names that compose/request-thread.ts asks for, with the inputs it sends. */
const TASKS: Record<string, (input: never) => unknown> = {
  parseBody: ({ name, bytes }: { name: LargeBodyName; bytes: Uint8Array }) => parseLargeBody(name, bytes),
  analyseList: ({ emails, options }: { emails: readonly string[]; options: InlineOptions }) =>
    analyseInline(emails, options),
  detectTable: ({ head, options }: { head: Uint8Array; options: DetectOptions }) =>
    detectForPreview(bufferOf(head), options),
};

/** The thread of the API for what would hold up its event loop, see core/request-thread.ts. */
export default function request({ task, input }: ThreadTask): Promise<TaskOutcome<unknown>> {
  const work = TASKS[task];
  if (work === undefined) throw new Error(`there is no task ${task}`);
  return captureOutcome(() => work(input as never));
}
