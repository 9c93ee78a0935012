import { LIMITS } from "../../../config/limits/limits.ts";
import type { ValuePlace } from "../csv/value-place.ts";

/** Rows that follow each other, and the bytes from the first one's beginning to the last one's end. */
export interface CutChunk {
  firstRow: number;
  rows: number;
  firstByte: number;
  bytes: number;
}

/** Cuts rows, as they are found, into chunks. */
export interface ChunkCutter {
  /**
   * The next row: from its first byte to after its last.
   * @param address its cell, looked at in this call alone; absent: rows need not be kept together by domain
   */
  add(start: number, end: number, address?: ValuePlace): void;
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

/** The position at which a chunk became full. It may still take further rows of its last row's domain. */
interface FullPlace {
  rows: number;
  lastByte: number;
  /** First byte of the next row; null: no row has followed yet. */
  nextByte: number | null;
  domain: Uint8Array;
}

const AT = 0x40;

/** Index of the domain, behind the last `@`. */
function domainFrom({ bytes, from, to }: ValuePlace): number {
  for (let i = to - 1; i >= from; i--) if (bytes[i] === AT) return i + 1;
  return to;
}

function isOfDomain({ domain }: FullPlace, address: ValuePlace): boolean {
  const from = domainFrom(address);
  if (domain.length === 0 || address.to - from !== domain.length) return false;
  for (let i = 0; i < domain.length; i++) if (domain[i] !== address.bytes[from + i]) return false;
  return true;
}

/**
 * A chunk has LIMITS.bulk.rowsPerChunk rows, and after the first `smallChunks` of them `rowsPerLargeChunk`. It has fewer
 * when they reach LIMITS.bulk.chunkBytes.
 *
 * A small chunk has up to `chunkSlackRows` more, if its last domain ends within them. Otherwise, in a list sorted by
 * domain, two processes would take the site's connection from each other once a second, and open it again.
 *
 * If a list has as many large chunks as there would be small ones, all are large: a chunk is seven requests and statements,
 * and 24 chunks fewer took 1 us of 12 from a row of 200 000.
 *
 * Bytes between two rows of a chunk (blank lines) belong to it, so a chunk has less than `chunkBytes` and one record's
 * bytes.
 *
 * Memory: some 60 bytes a chunk, and there is at most one for every `rowsPerChunk` rows and one for every `chunkBytes`.
 */
export function createChunkCutter(): ChunkCutter {
  const { rowsPerChunk, smallChunks, rowsPerLargeChunk, chunkBytes, chunkSlackRows } = LIMITS.bulk;
  const chunks: CutChunk[] = [];
  let firstRow = 0;
  let rows = 0;
  let firstByte = 0;
  let lastByte = 0;
  let full: FullPlace | null = null;

  function cut(): void {
    chunks.push({ firstRow, rows, firstByte, bytes: lastByte - firstByte });
    firstRow += rows;
    rows = 0;
    full = null;
  }

  /** Cuts at the earlier position; the rows after it begin the next chunk. */
  function cutThere(place: FullPlace): void {
    const since = rows - place.rows;
    const end = lastByte;
    rows = place.rows;
    lastByte = place.lastByte;
    cut();
    rows = since;
    firstByte = place.nextByte ?? end;
    lastByte = end;
  }

  /** Before a row is taken. */
  function cutBefore(start: number, address: ValuePlace | undefined): void {
    if (rows === 0) return;
    if (start - firstByte >= chunkBytes) cut();
    if (full === null) return;
    if (address === undefined || !isOfDomain(full, address)) cut();
    else full.nextByte ??= start;
  }

  function isFull(): boolean {
    return rows === (chunks.length < smallChunks ? rowsPerChunk : rowsPerLargeChunk);
  }

  return {
    add(start, end, address) {
      cutBefore(start, address);
      if (rows === 0) firstByte = start;
      rows += 1;
      lastByte = end;
      if (end - firstByte >= chunkBytes) cut();
      else if (full !== null && rows === full.rows + chunkSlackRows) cutThere(full);
      else if (full === null && isFull()) {
        if (address === undefined || chunks.length >= smallChunks) cut();
        else {
          // A copy: the buffer that was read may be read into again.
          const domain = Uint8Array.from(address.bytes.subarray(domainFrom(address), address.to));
          full = { rows, lastByte, nextByte: null, domain };
        }
      }
    },
    end() {
      if (full !== null && rows > full.rows) cutThere(full);
      if (rows > 0) cut();
      return firstRow < smallChunks * rowsPerLargeChunk ? chunks : joined(chunks);
    },
  };
}
