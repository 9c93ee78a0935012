/** Object storage: its client, the streams to and from it, and uploads. */
export const OBJECT_LIMITS = {
  connectTimeoutMs: 2_000,
  /** One attempt, until the answer starts: sending a body included. */
  requestTimeoutMs: 20_000,
  /** A connection without progress, even in the middle of a body. */
  silenceMs: 5_000,
  attempts: 3,
  /** One operation, all attempts and the body included. */
  operationMs: 45_000,
  /**
   * Concurrent requests, each with a socket; waiters for a permit, and how long they wait. Of short operations; of reads
   * that last as long as their reader, more than a process ever has (LIMITS.results.downloads, LIMITS.bulk.tasksAtOnce);
   * and of looks at objects and at parts of uploads, which any client can cause: they never take all permits of the
   * operations, and the shares (`shareKey`) take turns.
   */
  operations: { atOnce: 64, waiting: 1_024, waitMs: 10_000 },
  reads: { atOnce: 128, waiting: 64, waitMs: 10_000 },
  looks: { atOnce: 16, waiting: 1_024, waitingPerShare: 256, waitingKept: 256, waitMs: 5_000 },
  /** Objects of one listing when all below a prefix are deleted, and concurrent deletions where they go one by one. */
  deletionPage: 1_000,
  deletionsInFlight: 16,
  /** Multipart uploads of one listing. */
  multipartPage: 1_000,
  /** Size of a part of a multipart write. All parts of an object have one size, which some stores require. */
  partBytes: 8_388_608,
  /** Parts of one object being filled or sent: a writer holds this many times `partBytes`. */
  partsInFlight: 4,
  /** Parts of one object: the maximum of S3. */
  parts: 10_000,
  /** Attempts in a row at one part, or at continuing a read, without progress; each takes at most `operationMs`. */
  tries: 4,
  /** Before the second of them; doubles each time. */
  retryFirstMs: 200,
  retryMaxMs: 5_000,
} as const;
