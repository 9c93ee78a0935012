/** Bounds of shards, of the results joined from them, and of replies that are streamed. */
export const RESULT_LIMITS = {
  /** Of one result as JSON, and of its cells: the longest address, hosts and reply leave them far below. */
  resultBytes: 65_536,
  /** Of a shard, unzipped: what a chunk's rows come to in the worst of cases. */
  shardBytes: 67_108_864,
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
