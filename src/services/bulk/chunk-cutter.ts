import { LIMITS } from "../../core/limits.ts";

/** Rows that follow each other, and the bytes from the first one's beginning to the last one's end. */
export interface CutChunk {
  firstRow: number;
  rows: number;
  firstByte: number;
  bytes: number;
}

/** Cuts rows, as they are found, into chunks. */
export interface ChunkCutter {
  /** The next row: from its first byte to after its last. */
  add(start: number, end: number): void;
  /** No row comes any more. Which chunks there are. */
  end(): CutChunk[];
}

/** The small ones side by side as large ones, within the same bounds. */
function joined(chunks: readonly CutChunk[]): CutChunk[] {
  const { rowsPerLargeChunk, chunkBytes } = LIMITS.bulk;
  const large: CutChunk[] = [];
  for (const chunk of chunks) {
    const before = large.at(-1);
    const bytes = before === undefined ? 0 : chunk.firstByte + chunk.bytes - before.firstByte;
    if (before === undefined || before.rows + chunk.rows > rowsPerLargeChunk || bytes > chunkBytes)
      large.push({ ...chunk });
    else {
      before.rows += chunk.rows;
      before.bytes = bytes;
    }
  }
  return large;
}

/**
 * A chunk has LIMITS.bulk.rowsPerChunk rows, behind the first `smallChunks` of them `rowsPerLargeChunk`, or fewer when they have
 * LIMITS.bulk.chunkBytes or more. Of a list that has as many large ones as there would be small ones, all are large: a chunk is
 * seven requests and statements, and 24 fewer took 1 us of 12 from a row of 200 000. What lies between
 * two rows of a chunk (blank lines) belongs to it, so a chunk has less than `chunkBytes` and one record's bytes.
 *
 * Memory: some 60 bytes a chunk, and there is at most one for every `rowsPerChunk` rows and one for every `chunkBytes`.
 */
export function createChunkCutter(): ChunkCutter {
  const { rowsPerChunk, smallChunks, rowsPerLargeChunk, chunkBytes } = LIMITS.bulk;
  const chunks: CutChunk[] = [];
  let firstRow = 0;
  let rows = 0;
  let firstByte = 0;
  let lastByte = 0;

  function cut(): void {
    chunks.push({ firstRow, rows, firstByte, bytes: lastByte - firstByte });
    firstRow += rows;
    rows = 0;
  }

  return {
    add(start, end) {
      if (rows > 0 && start - firstByte >= chunkBytes) cut();
      if (rows === 0) firstByte = start;
      rows += 1;
      lastByte = end;
      const full = chunks.length < smallChunks ? rowsPerChunk : rowsPerLargeChunk;
      if (rows === full || end - firstByte >= chunkBytes) cut();
    },
    end() {
      if (rows > 0) cut();
      return firstRow < smallChunks * rowsPerLargeChunk ? chunks : joined(chunks);
    },
  };
}
