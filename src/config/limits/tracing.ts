/** Bounds of traces. */
export const TRACING_LIMITS = {
  /**
   * Requests recorded a second by a process: by chance, requested by the sender (`traceparent`), and of unauthenticated
   * senders. The shares are separate, since unauthenticated senders are unlimited in number.
   */
  requestsPerS: { byChance: 100, asked: 80, unauthenticated: 20 },
  /** Ended spans waiting to be sent, those being sent included: 1 to 2 kB each. Further ones are dropped and counted. */
  spansQueued: 4_096,
  spansPerBatch: 512,
  /** A batch that is not full is sent after this. */
  sendEveryMs: 2_000,
  /** One batch, its repetitions included. */
  sendTimeoutMs: 5_000,
  /** At the end of the process, for the remaining spans. */
  flushMs: 3_000,
  /** Minimum interval between two log lines about a failing collector. */
  failureQuietMs: 60_000,
  attributesPerSpan: 48,
  eventsPerSpan: 32,
  linksPerSpan: 4,
  attributeChars: 256,
} as const;
