/** Bounds of traces. */
export const TRACING_LIMITS = {
  /** Recorded by a process; strangers may ask for more of them (`traceparent`), and are not heard. */
  requestsPerS: 200,
  /** Spans that have ended and wait to be sent, those that are being sent included: 1 to 2 kB each. What comes beyond is dropped and counted. */
  spansQueued: 4_096,
  spansPerBatch: 512,
  /** A batch that is not full is sent after so long. */
  sendEveryMs: 2_000,
  /** One batch, its repetitions included. */
  sendTimeoutMs: 5_000,
  /** At the end of the process, for what is left. */
  flushMs: 3_000,
  /** Between two lines in the log that say that nobody takes them. */
  failureQuietMs: 60_000,
  attributesPerSpan: 48,
  eventsPerSpan: 32,
  linksPerSpan: 4,
  attributeChars: 256,
} as const;
