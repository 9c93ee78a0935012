import type { Transport } from "./http/transport.ts";
import type { components } from "./schema.d.ts";

/** Outcome of a message that was sent to an address. */
export type FeedbackEvent = components["schemas"]["FeedbackEvent"];
/** Number of events that count. */
export type FeedbackReport = components["schemas"]["RecordedFeedback"];

export interface FeedbackOptions {
  signal?: AbortSignal | undefined;
  /** Called after each request with the number of events reported so far. */
  onProgress?: ((reported: number) => void) | undefined;
}

/** The most that the API takes at once. */
const FEEDBACK_PER_REQUEST = 1_000;
/** Most bytes of the events in a request: the API's limit of 1 MiB, less the JSON around them. */
const BYTES_PER_REQUEST = 1_000_000;

const encoder = new TextEncoder();
/** Bytes of an event and its comma. */
const bytesOf = (event: FeedbackEvent) => encoder.encode(JSON.stringify(event)).length + 1;

/** Reports events in requests of FEEDBACK_PER_REQUEST, or fewer where they are long, one after the other. */
export async function reportFeedback(
  transport: Transport,
  events: Iterable<FeedbackEvent> | AsyncIterable<FeedbackEvent>,
  { signal, onProgress }: FeedbackOptions = {},
): Promise<FeedbackReport> {
  const sums: FeedbackReport = { accepted: 0, duplicates: 0, ignored: 0 };
  let reported = 0;
  async function send(some: readonly FeedbackEvent[]): Promise<void> {
    const request = { method: "POST", path: "/v1/feedback", body: { events: some }, signal };
    const { accepted, duplicates, ignored } = (await transport.json(request)) as FeedbackReport;
    sums.accepted += accepted;
    sums.duplicates += duplicates;
    sums.ignored += ignored;
    reported += some.length;
    onProgress?.(reported);
  }
  let waiting: FeedbackEvent[] = [];
  let waitingBytes = 0;
  for await (const event of events) {
    const bytes = bytesOf(event);
    if (waiting.length === FEEDBACK_PER_REQUEST || waitingBytes + bytes > BYTES_PER_REQUEST) {
      if (waiting.length > 0) await send(waiting);
      waiting = [];
      waitingBytes = 0;
    }
    waiting.push(event);
    waitingBytes += bytes;
  }
  if (waiting.length > 0) await send(waiting);
  return sums;
}
