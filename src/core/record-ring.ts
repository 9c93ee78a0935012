/** A record's head before its text: expiry, a count, its kind, the bytes of its text. */
const HEAD_BYTES = 24;
/** Positions of the last two, in 32-bit words from the record's start. */
const KIND = 4;
const LENGTH = 5;
/** Records start at multiples of it, since numbers are read from there. */
const UNIT_BYTES = 8;
/** A processor's cache line, and the lines to prefetch of a record: most answers are some 700 bytes long. */
const LINE_BYTES = 64;
const LINES = 12;
/** Maximum UTF-8 bytes of a UTF-16 unit. */
const CHAR_BYTES = 3;

/** The offset of a text that is not stored. */
export const NO_RECORD_OFFSET = -1;

/**
 * The newest of many texts, each with some numbers before it, in one buffer: a new record replaces the oldest. The holder
 * of an offset checks before each use whether the record is still there. A thousand answers as objects, each with its own
 * view of bytes, cost six cache misses instead of two for each one sent: for the view alone 0.1 µs, where a new one takes
 * 40 ns.
 *
 * An offset is where a record would start if the buffer had no end, in units: it only grows. Beyond 2 ** 31 (16 GiB stored)
 * V8 stores it outside the object that has it.
 */
export class RecordRing {
  readonly #memory: ArrayBuffer;
  readonly #bytes: Uint8Array;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  readonly #encoder = new TextEncoder();
  /** Units, a power of two. */
  readonly #size: number;
  /** Where the next record starts. */
  #head: number;
  /** End of the written part: what lies a lap behind it is no longer held. */
  #reached = 0;
  /** Without meaning: `prefetch` stores its reads here, or V8 would drop them. */
  seen = 0;

  /**
   * @param capacity bytes, a power of two; the system allocates them as they are written
   * @param from the first offset, a multiple of capacity / 8
   */
  constructor(capacity: number, from = 0) {
    if (!(capacity >= UNIT_BYTES) || !Number.isInteger(Math.log2(capacity)))
      throw new RangeError(`${capacity} is not a power of two`);
    const memory = new ArrayBuffer(capacity);
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory);
    this.#ints = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#size = capacity / UNIT_BYTES;
    this.#head = from;
  }

  /**
   * @param kind an integer of 32 bits
   * @returns its offset; NO_RECORD_OFFSET: the text may be too long for the whole buffer
   */
  append(text: string, kind: number): number {
    const most = Math.ceil((HEAD_BYTES + text.length * CHAR_BYTES) / UNIT_BYTES);
    if (most > this.#size) return NO_RECORD_OFFSET;
    let offset = this.#head;
    // In one piece: too small a rest at the end is skipped.
    const from = offset % this.#size;
    if (from + most > this.#size) offset += this.#size - from;
    this.#reached = Math.max(this.#reached, offset + most);
    const at = this.#at(offset) * UNIT_BYTES;
    const { written } = this.#encoder.encodeInto(
      text,
      this.#bytes.subarray(at + HEAD_BYTES, at + most * UNIT_BYTES),
    );
    this.#ints[at / 4 + KIND] = kind;
    this.#ints[at / 4 + LENGTH] = written;
    this.#head = offset + Math.ceil((HEAD_BYTES + written) / UNIT_BYTES);
    return offset;
  }

  /**
   * The record will be sent soon: lets the processor fetch it while other work goes on. Waiting for it when copying took
   * 0.3 µs of a cached answer, of which this saves 0.1.
   */
  prefetch(offset: number): void {
    const bytes = this.#bytes;
    const last = bytes.length - 1;
    const from = this.#at(offset) * UNIT_BYTES;
    let seen = 0;
    for (let line = 0; line < LINES; line++) seen ^= bytes[(from + line * LINE_BYTES) & last] as number;
    this.seen = seen;
  }

  holds(offset: number): boolean {
    return offset !== NO_RECORD_OFFSET && offset >= this.#reached - this.#size;
  }

  /** Marks a held record as valid until then, while the count stays the same. */
  stamp(offset: number, untilMs: number, count: number): void {
    const at = this.#at(offset);
    this.#floats[at] = untilMs;
    this.#floats[at + 1] = count;
  }

  isValid(offset: number, nowMs: number, count: number): boolean {
    const at = this.#at(offset);
    return nowMs < (this.#floats[at] as number) && this.#floats[at + 1] === count;
  }

  kind(offset: number): number {
    return this.#ints[2 * this.#at(offset) + KIND] as number;
  }

  /**
   * As UTF-8. A new view each time, which costs less than a cache miss on an old one; its bytes change once the record is
   * no longer held.
   */
  bytes(offset: number): Uint8Array {
    const at = this.#at(offset);
    const from = at * UNIT_BYTES + HEAD_BYTES;
    return new Uint8Array(this.#memory, from, this.#ints[2 * at + LENGTH] as number);
  }

  #at(offset: number): number {
    return offset & (this.#size - 1);
  }
}
