/** Bounds of shards, of the results joined from them, and of streamed replies. */
export const RESULT_LIMITS = {
  /** Size of one result as JSON, and of its cells. The longest address, hosts and reply stay far below. */
  resultBytes: 65_536,
  /** Size of an uncompressed shard: the worst case of a chunk's rows. */
  shardBytes: 67_108_864,
  /**
   * A shard of templates up to this is not compressed: that costs more than sending it as it is. Longer ones are, for 0.3
   * µs a row: they are kept as long as their job, and uncompressed are six times as long (47 bytes a row).
   */
  plainShardBytes: 131_072,
  /** Adjacent chunks are read in one request: this many, of about this many bytes, and of this many rows. */
  spanChunks: 8,
  spanBytes: 4_194_304,
  spanRows: 8_000,
  /** Such spans read or held before the current one is joined. */
  spansAhead: 2,
  /** Parts that a writer of assembled results holds: one is filled while the other is sent. */
  partsInFlight: 2,
  /** Chunks read from Postgres at a time. */
  chunksPerPage: 1_000,
  /** A row of assembled results: the longest record of a source, each byte escaped, plus our columns. */
  resultRowBytes: 16_777_216,
  /** The largest `limit` of a request for the first rows. */
  limitRows: 10_000,
  /** Concurrent downloads of results in a process, and of a share (`shareKey`) there. */
  downloads: 64,
  teamDownloads: 8,
  /** The part of `downloads` reserved for shares that have none. */
  keptDownloads: 16,
  /** The part of these that is joined while it is read: of active or cancelled jobs. */
  joinedDownloads: 12,
  teamJoinedDownloads: 2,
  keptJoinedDownloads: 6,
  /**
   * The part of the event loop's time for filtered downloads and joined ones, all together; the shares take turns. And the
   * time that joining a row took when its turn comes.
   */
  loopPart: 1 / 4,
  joinedRowMs: 0.0025,
  /** Memory of one of them: a client may stop anywhere and keep it. Plus the results that later rows repeat. */
  joinedDownload: {
    spanChunks: 4,
    spanBytes: 2_097_152,
    spanRows: 4_000,
    spansAhead: 0,
    copies: { fileBytes: 8_589_934_592, blockBytes: 32_768, blocksKept: 32 },
  },
  /** Scratch files of all of them in a process. */
  scratchBytes: 17_179_869_184,
  /** How long an answer's head waits for its first row, so that an earlier error is an answer of its own. */
  headMs: 2_000,
  /** Followers of job events in a process, of a share there, and those kept for shares that have none. */
  followers: 1_000,
  teamFollowers: 50,
  keptFollowers: 400,
  /** Interval of checking followed jobs, and jobs in one statement. */
  followEveryMs: 1_000,
  followPage: 50,
  /** When a statement for many fails, each is queried separately, until this many have failed in a row. */
  followFailures: 3,
  /** A comment, so that no proxy takes the connection for dead. */
  heartbeatMs: 15_000,
  /** A follower that lost its connection reconnects after this. */
  reconnectMs: 2_000,
} as const;

/** Replies whose bodies are generated while they are sent. */
export const STREAM_LIMITS = {
  /** Passed to a connection at a time. */
  pieceBytes: 65_536,
  /**
   * A chunk of a body of unknown length: with its head, and the fields that uWebSockets.js writes before the first, less
   * than the 16,384 bytes that it gathers before it writes.
   */
  chunkBytes: 15_872,
  /** For a body of unknown length, the maximum that uWebSockets.js may buffer for its client. */
  keptBytes: 1_048_576,
  /** Longer than uWebSockets.js lets a connection accept nothing (10 s, counted in steps of 4 s). */
  quietMs: 15_000,
  /**
   * The least that a client must take (see `pace` of LIMITS.http.answers): it holds a slot. The grace is longer than `keptBytes` take
   * at that rate, and `quietMs` after them: nothing is sent meanwhile, so what the client takes is not seen.
   */
  pace: { bytesPerS: 16_384, graceMs: 80_000, lookMs: 1_000 },
  /** Sent in one tick. */
  turnBytes: 1_048_576,
  /** Sending stops about this long after the credential is revoked. */
  credentialEveryMs: 1_000,
} as const;
