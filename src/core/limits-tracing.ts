/** Bounds of traces. */
export const TRACING_LIMITS = {
  /**
   * Requests that a process records, in three shares that take nothing of each other: by chance, as their senders ask
   * (`traceparent`), and of senders who are not known, of whom there may be any number.
   */
  requestsPerS: { byChance: 100, asked: 80, strangers: 20 },
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
