import type { Transport } from "./http/transport.ts";
import type { components } from "./schema.d.ts";

/** What became of a message. */
export type FeedbackEvent = components["schemas"]["FeedbackEvent"];
/** How many events count. */
export type FeedbackReport = components["schemas"]["RecordedFeedback"];

export interface FeedbackOptions {
  signal?: AbortSignal | undefined;
  /** Told after each request how many events have been reported. */
  onProgress?: ((reported: number) => void) | undefined;
}

/** The most that the API takes at once. */
const FEEDBACK_PER_REQUEST = 1_000;

/** Reports events in requests of FEEDBACK_PER_REQUEST, one after the other. */
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
  for await (const event of events) {
    waiting.push(event);
    if (waiting.length < FEEDBACK_PER_REQUEST) continue;
    await send(waiting);
    waiting = [];
  }
  if (waiting.length > 0) await send(waiting);
  return sums;
}
