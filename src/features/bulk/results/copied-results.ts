import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Scratch, ScratchFile } from "../../../stores/scratch.ts";
import { createBlockIndex } from "../analysis/block-index.ts";

/** A result as shards have it. */
export interface CopiedResult {
  /** Number of the row that the result belongs to, as results number rows. */
  listRow: number;
  /** A byte. */
  verdict: number;
  /** The CSV cells, `csvBytes` long, followed by the JSON. */
  bytes: Buffer;
  csvBytes: number;
}

/**
 * The results that later rows of a job repeat, during the assembly. They are on disk, except those appended or read last,
 * in blocks of whole entries, in the order of rows. Memory holds the position and first row of each block.
 *
 * Reads are synchronous: a copy far from the others costs one read of a block that is most likely in the page cache, some
 * 10 µs. Handing it to another thread and back takes several times that. A caller that reads many rows in one tick must end
 * the tick by time, not by rows.
 *
 * Memory: `blocksKept` + 1 blocks, and 24 bytes for each block of the file.
 */
export interface CopiedResults {
  /**
   * @param row larger than all before
   * @param result its bytes are read until this has returned, or its promise has resolved
   * @returns a promise to await before any other call, once in a block; else null
   * @throws ScratchFull, here or by the promise
   */
  append(row: number, result: CopiedResult): Promise<void> | null;
  /** A copy of the row's appended result. */
  find(row: number): CopiedResult | undefined;
  /** Gives the disk space back; to be called whatever happened. */
  close(): Promise<void>;
  /** Memory in buffers and tables now. */
  heldBytes(): number;
}

/** Sizes: LIMITS.bulk.copies describes each. */
export interface CopiedSizes {
  fileBytes: number;
  blockBytes: number;
  blocksKept: number;
}

/** Head of an entry: u32 row, u32 row of the list, u8 verdict, u32 bytes of CSV, u32 bytes of JSON; then these. */
const ENTRY_HEAD = 17;
const LIST_ROW_AT = 4;
const VERDICT_AT = 8;
const CSV_AT = 9;
const JSON_AT = 13;

/** The entry of `row` in a block of `length` bytes. */
function findIn(block: Buffer, length: number, row: number): CopiedResult | undefined {
  for (let at = 0; at < length; ) {
    const csvBytes = block.readUInt32LE(at + CSV_AT);
    const end = at + ENTRY_HEAD + csvBytes + block.readUInt32LE(at + JSON_AT);
    const found = block.readUInt32LE(at);
    if (found > row) return undefined;
    if (found === row) {
      const bytes = Buffer.from(block.subarray(at + ENTRY_HEAD, end));
      const listRow = block.readUInt32LE(at + LIST_ROW_AT);
      return { listRow, verdict: block.readUInt8(at + VERDICT_AT), bytes, csvBytes };
    }
    at = end;
  }
  return undefined;
}

function writeEntry(
  block: Buffer,
  at: number,
  row: number,
  { listRow, verdict, bytes, csvBytes }: CopiedResult,
): void {
  block.writeUInt32LE(row, at);
  block.writeUInt32LE(listRow, at + LIST_ROW_AT);
  block.writeUInt8(verdict, at + VERDICT_AT);
  block.writeUInt32LE(csvBytes, at + CSV_AT);
  block.writeUInt32LE(bytes.length - csvBytes, at + JSON_AT);
  bytes.copy(block, at + ENTRY_HEAD);
}

class CopiedResultFile implements CopiedResults {
  readonly #scratch: Scratch;
  readonly #sizes: CopiedSizes;
  readonly #fences = createBlockIndex();
  /** Blocks that were read last, by number. */
  readonly #kept: LRUCache<number, Buffer>;
  #file: ScratchFile | null = null;
  #fileEnd = 0;
  /** The block that is being filled: longer than others where one entry is. */
  #filling = Buffer.alloc(0);
  #filled = 0;
  #firstRow = 0;
  #lastRow = -1;
  /** Being written, or lost. */
  #writing = false;

  constructor(scratch: Scratch, sizes: CopiedSizes) {
    this.#scratch = scratch;
    this.#sizes = sizes;
    this.#kept = new LRUCache({ max: sizes.blocksKept });
  }

  append(row: number, result: CopiedResult): Promise<void> | null {
    this.#checkOpen();
    if (row <= this.#lastRow)
      throw new RangeError(`row ${row} cannot be appended behind row ${this.#lastRow}`);
    const bytes = ENTRY_HEAD + result.bytes.length;
    if (this.#filled > 0 && this.#filled + bytes > this.#filling.length)
      return this.#sealThenPut(row, result, bytes);
    this.#put(row, result, bytes);
    return null;
  }

  find(row: number): CopiedResult | undefined {
    this.#checkOpen();
    if (this.#filled > 0 && row >= this.#firstRow) return findIn(this.#filling, this.#filled, row);
    const number = this.#fences.search(row);
    if (number < 0 || this.#file === null) return undefined;
    const start = this.#fences.position(number);
    const end = number + 1 < this.#fences.size() ? this.#fences.position(number + 1) : this.#fileEnd;
    const block = this.#kept.get(number) ?? this.#read(this.#file, number, start, end - start);
    return findIn(block, end - start, row);
  }

  /** Into the buffer of the block that was not asked for the longest. The block of one long entry is not kept. */
  #read(file: ScratchFile, number: number, position: number, bytes: number): Buffer {
    const { blockBytes, blocksKept } = this.#sizes;
    const isKept = bytes <= blockBytes;
    const free = isKept && this.#kept.size >= blocksKept ? this.#kept.pop() : undefined;
    const block = free ?? Buffer.allocUnsafeSlow(Math.max(bytes, blockBytes));
    file.readNow(block.subarray(0, bytes), position);
    if (isKept) this.#kept.set(number, block);
    return block;
  }

  async close(): Promise<void> {
    this.#writing = true;
    await this.#file?.close();
  }

  heldBytes(): number {
    return this.#filling.length + this.#kept.size * this.#sizes.blockBytes + this.#fences.heldBytes();
  }

  #checkOpen(): void {
    if (this.#writing) throw new Error("results are not copied any more, or a block is still to be written");
  }

  /** Writes the present block to the file. */
  async #seal(): Promise<void> {
    this.#file ??= this.#scratch.open(this.#sizes.fileBytes);
    await this.#file.write([this.#filling.subarray(0, this.#filled)], this.#fileEnd);
    this.#fences.add(this.#firstRow, this.#fileEnd);
    this.#fileEnd += this.#filled;
    this.#filled = 0;
    this.#writing = false;
  }

  #put(row: number, result: CopiedResult, bytes: number): void {
    if (this.#filled === 0) {
      this.#firstRow = row;
      const room = Math.max(bytes, this.#sizes.blockBytes);
      if (this.#filling.length !== room) this.#filling = Buffer.allocUnsafeSlow(room);
    }
    writeEntry(this.#filling, this.#filled, row, result);
    this.#filled += bytes;
    this.#lastRow = row;
  }

  async #sealThenPut(row: number, result: CopiedResult, bytes: number): Promise<void> {
    this.#writing = true;
    await this.#seal();
    this.#put(row, result, bytes);
  }
}

export function createCopiedResults(
  scratch: Scratch,
  sizes: CopiedSizes = LIMITS.bulk.copies,
): CopiedResults {
  return new CopiedResultFile(scratch, sizes);
}
