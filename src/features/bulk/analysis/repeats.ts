/** The repeats in one chunk. Offsets are counted from 0 within the chunk, rows within the job. */
export interface ChunkRepeats {
  /** Offset of a row whose address an earlier row of the job has -> the first of those. */
  sameAs: Map<number, number>;
  /** Offset of a row that is the first with its address -> number of later rows of the job with that address. */
  copies: Map<number, number>;
}

/** Rows of a chunk: offsets have 16 bits. */
export const CHUNK_ROWS_MAX = 65_535;
const ROW_MAX = 0xffff_ffff;
/** Maximum bytes of an entry: 17 bits and 34 bits in groups of seven. */
const ENTRY_BYTES_MAX = 3 + 5;
const COUNT_BYTES_MAX = 3;

/*
 * Both maps, one after the other. Each has the number of entries, then the entries in ascending order: the distance of the
 * offset from the one before (-1 before the first), and the value. A value of `sameAs` is the distance of the row from the
 * row before (0 before the first), in zigzag: lists that repeat each other in order cost two bytes a row. All numbers are
 * LEB128.
 */

interface Writer {
  bytes: Buffer;
  at: number;
}

/** Beyond 32 bits too, hence no shifts. */
function writeNumber(to: Writer, value: number): void {
  let left = value;
  while (left >= 0x80) {
    to.bytes[to.at++] = (left % 0x80) + 0x80;
    left = Math.floor(left / 0x80);
  }
  to.bytes[to.at++] = left;
}

function sorted(entries: ReadonlyMap<number, number>): [number, number][] {
  return [...entries].sort(([a], [b]) => a - b);
}

/** @returns no byte, when the chunk has no repeats */
export function encodeChunkRepeats({ sameAs, copies }: ChunkRepeats): Buffer {
  const entries = sameAs.size + copies.size;
  if (entries === 0) return Buffer.alloc(0);
  const to = { bytes: Buffer.allocUnsafe(2 * COUNT_BYTES_MAX + entries * ENTRY_BYTES_MAX), at: 0 };
  writeNumber(to, sameAs.size);
  let offset = -1;
  let row = 0;
  for (const [nextOffset, nextRow] of sorted(sameAs)) {
    writeNumber(to, nextOffset - offset);
    writeNumber(to, nextRow >= row ? (nextRow - row) * 2 : (row - nextRow) * 2 - 1);
    offset = nextOffset;
    row = nextRow;
  }
  writeNumber(to, copies.size);
  offset = -1;
  for (const [nextOffset, count] of sorted(copies)) {
    writeNumber(to, nextOffset - offset);
    writeNumber(to, count);
    offset = nextOffset;
  }
  return to.bytes.subarray(0, to.at);
}

interface Reader {
  bytes: Uint8Array;
  at: number;
}

function nonsense(what: string): Error {
  return new Error(`the repeats of a chunk cannot be read: ${what}`);
}

function readNumber(from: Reader): number {
  let value = 0;
  for (let scale = 1; scale <= 2 ** 28; scale *= 0x80) {
    const byte = from.bytes[from.at++];
    if (byte === undefined) throw nonsense("they end too early");
    value += (byte % 0x80) * scale;
    if (byte < 0x80) return value;
  }
  throw nonsense("a number is too long");
}

/** @param read the value of the next entry */
function readEntries(from: Reader, read: () => number): Map<number, number> {
  const count = readNumber(from);
  if (count > CHUNK_ROWS_MAX) throw nonsense("a chunk has not so many rows");
  const entries = new Map<number, number>();
  let offset = -1;
  for (let i = 0; i < count; i++) {
    const distance = readNumber(from);
    offset += distance;
    if (distance === 0 || offset >= CHUNK_ROWS_MAX) throw nonsense("offsets do not ascend in a chunk");
    entries.set(offset, read());
  }
  return entries;
}

/** @param bytes empty: the chunk has no repeats @throws Error when `encodeChunkRepeats` did not write them */
export function decodeChunkRepeats(bytes: Uint8Array): ChunkRepeats {
  if (bytes.length === 0) return { sameAs: new Map(), copies: new Map() };
  const from = { bytes, at: 0 };
  let row = 0;
  const sameAs = readEntries(from, () => {
    const zigzag = readNumber(from);
    row += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    if (row < 0 || row > ROW_MAX) throw nonsense("a row is out of range");
    return row;
  });
  const copies = readEntries(from, () => {
    const count = readNumber(from);
    if (count === 0 || count > ROW_MAX) throw nonsense("a number of copies is out of range");
    return count;
  });
  if (from.at !== bytes.length) throw nonsense("bytes are left over");
  for (const offset of copies.keys())
    if (sameAs.has(offset)) throw nonsense("a row is a copy and a first at once");
  return { sameAs, copies };
}
