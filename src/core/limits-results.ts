/** Bounds of shards, of the results joined from them, and of replies that are streamed. */
export const RESULT_LIMITS = {
  /** Of one result as JSON, and of its cells: the longest address, hosts and reply leave them far below. */
  resultBytes: 65_536,
  /** Of a shard, unzipped: what a chunk's rows come to in the worst of cases. */
  shardBytes: 67_108_864,
  /**
   * A shard of templates up to this is not zipped: that costs more than to send it as it is. Longer ones are, for 0.3 us a row: they
   * are kept as long as their job, and unzipped are six times as long (47 bytes a row).
   */
  plainShardBytes: 131_072,
  /** Chunks that stand side by side are read in one request: so many, of about so many bytes, and of so many rows. */
  spanChunks: 8,
  spanBytes: 4_194_304,
  spanRows: 8_000,
  /** Such spans that are read or held before the one that is being joined is done. */
  spansAhead: 2,
  /**
   * Results of so many rows are put together by the main thread, some 25 ms in pieces: to begin a thread for them, which
   * reads the client of object storage first, takes ten times that. More rows are for the thread; what its heap may have
   * is many times what a join keeps there, since most of that lies in buffers.
   */
  rowsHere: 4_000,
  threadHeapMb: 512,
  threadIdleMs: 60_000,
  /** Parts that a writer of assembled results holds: one is filled while the other is sent. */
  partsInFlight: 2,
  /** Chunks of which Postgres is asked at a time. */
  chunksPerPage: 1_000,
  /** A row of assembled results: of the longest record of a source, each byte an escape, and what we add. */
  resultRowBytes: 16_777_216,
  /** Downloads of results under way in a process, and of a team there. */
  downloads: 64,
  teamDownloads: 8,
  /** Of the first, for teams that have none. */
  keptDownloads: 16,
  /** Of these, what is put together while it is read: of jobs that are under way or were cancelled. */
  joinedDownloads: 8,
  teamJoinedDownloads: 2,
  /** What one of them holds: a client may stop anywhere and keep it. Beside it, the results that later rows repeat. */
  joinedDownload: {
    spanChunks: 4,
    spanBytes: 2_097_152,
    spanRows: 4_000,
    spansAhead: 0,
    copies: { fileBytes: 8_589_934_592, blockBytes: 32_768, blocksKept: 32 },
  },
  /** Scratch files of all of them in a process. */
  scratchBytes: 17_179_869_184,
  /** So long an answer's head waits for its first row, so that what goes wrong before that is an answer of its own. */
  headMs: 2_000,
  /** Followers of the events of jobs in a process, and of a team there. */
  followers: 1_000,
  teamFollowers: 50,
  /** Jobs that are followed are looked at this often, so many in one statement. */
  followEveryMs: 1_000,
  followPage: 50,
  /** When a statement for many fails, each is asked for by itself, until so many have failed in a row. */
  followFailures: 3,
  /** A comment, so that nobody in between takes the connection for dead. */
  heartbeatMs: 15_000,
  /** A follower that lost its connection comes back after this. */
  reconnectMs: 2_000,
} as const;

/** Replies whose bodies are made while they are sent. */
export const STREAM_LIMITS = {
  /** Handed to a connection at a time. */
  pieceBytes: 65_536,
  /** A write of so many bytes does not fit uWebSockets.js' buffer for corked writes, and tells what became of it. */
  corkBytes: 16_384,
  /** Of a body of unknown length, what uWebSockets.js may keep for its client. */
  keptBytes: 1_048_576,
  /** Longer than uWebSockets.js lets a connection take nothing (10 s, counted in steps of 4 s). */
  quietMs: 15_000,
  /** Sent between two turns of the event loop. */
  turnBytes: 1_048_576,
  /** Whose credential was revoked is not sent to for longer than about this. */
  credentialEveryMs: 1_000,
} as const;
