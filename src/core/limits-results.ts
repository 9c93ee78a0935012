/** Bounds of shards, of the results joined from them, and of replies that are streamed. */
export const RESULT_LIMITS = {
  /** Of one result as JSON, and of its cells: the longest address, hosts and reply leave them far below. */
  resultBytes: 65_536,
  /** Of a shard, unzipped: what a chunk's rows come to in the worst of cases. */
  shardBytes: 67_108_864,
} as const;
