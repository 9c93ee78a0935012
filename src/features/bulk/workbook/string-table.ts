import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Scratch, ScratchFile } from "../../../stores/scratch.ts";

const { blockStrings, blockChars, memoryBytes, decodedChars } = LIMITS.bulk.workbook.strings;

/** Place of a block: in memory, or in the scratch file. */
type Place = { block: Buffer } | { position: number; bytes: number };

/**
 * Strings by number, in blocks: a workbook stores each text once, and a million addresses do not fit a small heap. The
 * first `memoryBytes` stay in memory. Further blocks go to a scratch file, and leave 32 bytes each in memory. Cells mostly
 * name strings in the order of the table, so a few decoded blocks serve nearly all of them.
 */
export class StringTable {
  readonly #scratch: Scratch | null;
  readonly #bytesMax: number;
  #file: ScratchFile | null = null;
  #open: string[] = [];
  #openChars = 0;
  readonly #starts: number[] = [];
  readonly #places: Place[] = [];
  #length = 0;
  #bytes = 0;
  #spilled = 0;
  readonly #unwritten: Buffer[] = [];
  /** All strings of the workbook are here; else there are more. */
  isComplete = false;
  readonly #decoded = new LRUCache<number, string[]>({
    maxSize: decodedChars,
    sizeCalculation: (strings) => strings.reduce((sum, { length }) => sum + length, strings.length),
  });

  /** @param scratch null: what does not fit memory is not taken */
  constructor(scratch: Scratch | null, bytesMax: number) {
    this.#scratch = scratch;
    this.#bytesMax = bytesMax;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes of all strings, as stored. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes > (this.#scratch === null ? memoryBytes : this.#bytesMax);
  }

  add(text: string): void {
    this.#open.push(text);
    this.#length += 1;
    this.#openChars += text.length;
    if (this.#open.length >= blockStrings || this.#openChars >= blockChars) this.#closeBlock();
  }

  #closeBlock(): void {
    const block = Buffer.from(JSON.stringify(this.#open));
    this.#starts.push(this.#length - this.#open.length);
    this.#open = [];
    this.#openChars = 0;
    const fits = this.#scratch === null || this.#bytes + block.length <= memoryBytes;
    this.#bytes += block.length;
    if (fits && this.#spilled === 0) {
      this.#places.push({ block });
      return;
    }
    this.#places.push({ position: this.#spilled, bytes: block.length });
    this.#spilled += block.length;
    this.#unwritten.push(block);
  }

  /** Writes outstanding blocks. Afterwards added strings can be read. @throws ScratchFull */
  async settle(): Promise<void> {
    if (this.#unwritten.length === 0 || this.#scratch === null) return;
    this.#file ??= this.#scratch.open(this.#bytesMax + blockChars * 8);
    const blocks = this.#unwritten.splice(0);
    const bytes = blocks.reduce((sum, { length }) => sum + length, 0);
    await this.#file.write(blocks, this.#spilled - bytes);
  }

  /** No more are added. */
  async end(): Promise<void> {
    if (this.#open.length > 0) this.#closeBlock();
    await this.settle();
  }

  /** undefined: there is none of that number. */
  get(number: number): string | undefined {
    if (!(number >= 0 && number < this.#length)) return undefined;
    const block = this.#blockOf(number);
    return this.#strings(block)[number - (this.#starts[block] ?? 0)];
  }

  #blockOf(number: number): number {
    let from = 0;
    let to = this.#starts.length;
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if ((this.#starts[middle] ?? 0) <= number) from = middle;
      else to = middle;
    }
    return from;
  }

  #strings(block: number): string[] {
    const known = this.#decoded.get(block);
    if (known !== undefined) return known;
    const strings = JSON.parse(this.#read(block).toString()) as string[];
    this.#decoded.set(block, strings);
    return strings;
  }

  #read(block: number): Buffer {
    const place = this.#places[block];
    if (place !== undefined && "block" in place) return place.block;
    if (place === undefined || this.#file === null) throw new Error("a block of strings is not there");
    const bytes = Buffer.allocUnsafe(place.bytes);
    this.#file.readNow(bytes, place.position);
    return bytes;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}
