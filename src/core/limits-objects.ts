/** Object storage: its client, the streams to and from it, and uploads. */
export const OBJECT_LIMITS = {
  connectTimeoutMs: 2_000,
  /** One attempt, until the answer begins: the sending of a body included. */
  requestTimeoutMs: 20_000,
  /** A connection on which nothing moves, be it in the middle of a body. */
  silenceMs: 5_000,
  attempts: 3,
  /** One operation, all attempts and the body included. */
  operationMs: 45_000,
  /**
   * Requests under way at once, each with a socket; those that wait for their turn, and how long. Of short operations; of
   * reads that last as long as whoever reads, more than a process ever has (LIMITS.results.downloads, LIMITS.bulk.tasksAtOnce; a chunk
   * that stays has read its rows before);
   * and of looks whether an object is there, which anybody can ask for: they never have all turns of the operations.
   */
  operations: { atOnce: 64, waiting: 1_024, waitMs: 10_000 },
  reads: { atOnce: 128, waiting: 64, waitMs: 10_000 },
  looks: { atOnce: 16, waiting: 512, waitMs: 5_000 },
  /** Objects of one listing when all below a prefix are deleted, and deletions at once where they go one by one. */
  deletionPage: 1_000,
  deletionsInFlight: 16,
  /** Multipart uploads of one listing. */
  multipartPage: 1_000,
  /** Of what is written in parts: all of one object are of one size, which some stores insist on. */
  partBytes: 8_388_608,
  /** Parts of one object that are being filled or sent: so many times `partBytes` is what a writer holds. */
  partsInFlight: 4,
  /** Of one object; S3's own bound. */
  parts: 10_000,
  /** Tries in a row at one part, or at going on with a read, that got no further; each of `operationMs` at most. */
  tries: 4,
  /** Before the second of them; then twice as long each time. */
  retryFirstMs: 200,
  retryMaxMs: 5_000,
} as const;
