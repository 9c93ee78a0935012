import { LIMITS } from "../../../config/limits/limits.ts";
import { isMbox, messagesOf } from "./mbox.ts";
import { readMessage } from "./message.ts";
import { type FileBounds, type FileReading, readTable, requireWithin, type TableOptions } from "./table.ts";

/** A message begins with a field of its header. */
const FIRST_FIELD = /^(?:\xef\xbb\xbf)?(?:>?From [^\r\n]*\r?\n)?[!-9;-~]{1,80}:[ \t]/;
/** Bytes that are enough to detect the type of a file. */
const START_BYTES = 1_000;

async function readMbox(bytes: Buffer, bounds: FileBounds, now: () => number): Promise<FileReading> {
  const reading: FileReading = { events: [], ignored: 0 };
  const startedMs = now();
  let messages = 0;
  for (const message of messagesOf(bytes)) {
    messages += 1;
    requireWithin(messages, bounds.messages, "messages");
    const excessMs = now() - startedMs - messages * bounds.mailMs;
    requireWithin(excessMs, bounds.slowMailMs, "ms of slow messages");
    const events = await readMessage(message);
    requireWithin(reading.events.length + events.length, bounds.events, "events");
    reading.events.push(...events);
    if (events.length === 0) reading.ignored += 1;
  }
  return reading;
}

/**
 * The events of a file: an mbox or one message with bounces and complaints, or a table (CSV, TSV, an address a line). Which it
 * is, is seen by its first bytes.
 * @param now monotonic milliseconds
 * @throws AppError of `readTable`; `body_too_large`
 */
export async function readFeedbackFile(
  bytes: Buffer,
  options: TableOptions,
  bounds: FileBounds = LIMITS.feedback.file,
  now: () => number = () => performance.now(),
): Promise<FileReading> {
  if (isMbox(bytes)) return readMbox(bytes, bounds, now);
  if (!FIRST_FIELD.test(bytes.toString("latin1", 0, START_BYTES))) return readTable(bytes, options, bounds);
  const events = await readMessage(bytes);
  return { events, ignored: events.length === 0 ? 1 : 0 };
}
