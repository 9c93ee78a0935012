import type { ByteRange } from "../store/job-objects.ts";

/** What this process has just read and written of a chunk. */
export interface FreshChunk {
  /** Of its shard in object storage. */
  shardKey: string;
  shard: Uint8Array;
  /** Where its rows stand in their source. */
  range: ByteRange;
  /** Those; null where who asks for them is to read them himself. */
  rows: Uint8Array | null;
}

/**
 * Chunks of a job that were written here, for the join beside them: their shards and rows are in memory still, and to read
 * both again is a request each, about 0.6 us a row of the process and as much of object storage. They are there as well:
 * nothing depends on what is here, so what has no room is read.
 *
 * Memory: `maxBytes`.
 */
export interface FreshChunks {
  add(chunk: FreshChunk): void;
  /** null: it is to be read. Each is given once. */
  takeShard(key: string): Uint8Array<ArrayBuffer> | null;
  /** The same of rows that stand side by side. What comes before them is not asked for any more, and is forgotten. */
  takeRows(range: ByteRange): Uint8Array<ArrayBuffer> | null;
  /** Forgets all, and takes no more. */
  close(): void;
  readonly heldBytes: number;
}

/** Of its own: what was read may be a part of a larger buffer. */
function withOwnBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes);
}

/** @param onTaken called when something was asked for: less may be held */
export function createFreshChunks(maxBytes: number, onTaken: () => void = () => {}): FreshChunks {
  const shards = new Map<string, Uint8Array>();
  /** By where they begin; and the keys of the shards that they belong to. */
  const chunksByStart = new Map<number, { key: string; end: number; rows: Uint8Array | null }>();
  let heldBytes = 0;
  let closed = false;

  function dropShard(key: string): Uint8Array | null {
    const shard = shards.get(key);
    if (shard === undefined) return null;
    shards.delete(key);
    heldBytes -= shard.length;
    return shard;
  }

  function drop(firstByte: number): void {
    const chunk = chunksByStart.get(firstByte);
    if (chunk === undefined) return;
    chunksByStart.delete(firstByte);
    heldBytes -= chunk.rows?.length ?? 0;
    dropShard(chunk.key);
  }

  /** Those of the chunks from `firstByte` on, up to `end`; null: of one of them they are not here. */
  function rowsBetween(firstByte: number, end: number): Uint8Array[] | null {
    const found: Uint8Array[] = [];
    for (let at = firstByte; at < end; ) {
      const chunk = chunksByStart.get(at);
      // What stands between two chunks (blank lines) belongs to neither.
      if (chunk === undefined || chunk.rows === null || chunk.end > end) return null;
      found.push(chunk.rows);
      at = chunk.end;
    }
    return found;
  }

  return {
    add({ shardKey, shard, range, rows }) {
      const bytes = shard.length + (rows?.length ?? 0);
      if (closed || heldBytes + bytes > maxBytes || chunksByStart.has(range.firstByte)) return;
      heldBytes += bytes;
      shards.set(shardKey, shard);
      chunksByStart.set(range.firstByte, { key: shardKey, end: range.firstByte + range.bytes, rows });
    },
    takeShard(key) {
      const shard = dropShard(key);
      onTaken();
      return shard === null ? null : withOwnBuffer(shard);
    },
    takeRows({ firstByte, bytes }) {
      for (const [at, { end }] of chunksByStart) if (end <= firstByte) drop(at);
      const found = rowsBetween(firstByte, firstByte + bytes);
      if (found === null) {
        onTaken();
        return null;
      }
      for (const rows of found) heldBytes -= rows.length;
      for (const [at, place] of chunksByStart) if (at < firstByte + bytes) place.rows = null;
      onTaken();
      const [only] = found;
      return withOwnBuffer(found.length === 1 && only !== undefined ? only : Buffer.concat(found));
    },
    close() {
      closed = true;
      shards.clear();
      chunksByStart.clear();
      heldBytes = 0;
    },
    get heldBytes() {
      return heldBytes;
    },
  };
}
