/** Of a record before its text: until when it is good, a count, its kind, the bytes of its text. */
const HEAD_BYTES = 24;
/** Of the last two the places, in 32 bits from its beginning. */
const KIND = 4;
const LENGTH = 5;
/** Records begin at multiples of it, since numbers are read from there. */
const UNIT_BYTES = 8;
/** What a processor fetches at a time, and so many of them of a record: most answers are some 700 bytes long. */
const LINE_BYTES = 64;
const LINES = 12;
/** The most bytes of a UTF-16 unit. */
const CHAR_BYTES = 3;

/** Of a text that is nowhere. */
export const NO_PLACE = -1;

/**
 * The newest of many texts, each with some numbers before it, in one memory: what is kept takes the place of the oldest. Who has a
 * place asks before each use whether it is still held. A thousand answers as objects, each with a view of bytes of its own, were six
 * places to wait for instead of two each time one was sent: for the view alone 0.1 us, where a new one takes 40 ns.
 *
 * A place is where a record would begin if the memory had no end, in units: it only grows. Beyond 2 ** 31 (16 GiB kept) V8 keeps it
 * beside the object that has it.
 */
export class RecordRing {
  readonly #memory: ArrayBuffer;
  readonly #bytes: Uint8Array;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  readonly #encoder = new TextEncoder();
  /** Units, a power of two. */
  readonly #size: number;
  /** Where the next record begins. */
  #head: number;
  /** Up to where it may be written to: what lies a lap behind that is held no more. */
  #reached = 0;
  /** Means nothing: what `expect` reads has to go somewhere, or V8 would not read it. */
  seen = 0;

  /**
   * @param capacity bytes, a power of two; the system gives them as they are written to
   * @param from the first place, a multiple of capacity / 8
   */
  constructor(capacity: number, from = 0) {
    if (!(capacity >= UNIT_BYTES) || !Number.isInteger(Math.log2(capacity)))
      throw new RangeError(`${capacity} is no power of two`);
    const memory = new ArrayBuffer(capacity);
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory);
    this.#ints = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#size = capacity / UNIT_BYTES;
    this.#head = from;
  }

  /**
   * @param kind whole, of 32 bits
   * @returns its place; NO_PLACE: the text may be too long for the whole memory
   */
  keep(text: string, kind: number): number {
    const most = Math.ceil((HEAD_BYTES + text.length * CHAR_BYTES) / UNIT_BYTES);
    if (most > this.#size) return NO_PLACE;
    let place = this.#head;
    // In one piece: what is left at the end, and may be too little, is passed over.
    const from = place % this.#size;
    if (from + most > this.#size) place += this.#size - from;
    this.#reached = Math.max(this.#reached, place + most);
    const at = this.#at(place) * UNIT_BYTES;
    const { written } = this.#encoder.encodeInto(
      text,
      this.#bytes.subarray(at + HEAD_BYTES, at + most * UNIT_BYTES),
    );
    this.#ints[at / 4 + KIND] = kind;
    this.#ints[at / 4 + LENGTH] = written;
    this.#head = place + Math.ceil((HEAD_BYTES + written) / UNIT_BYTES);
    return place;
  }

  /**
   * What is there, if anything, will be sent soon: has the processor fetch it, all at once and beside what is done meanwhile. That it
   * was waited for when it was copied took 0.3 us of a cached answer, of which 0.1 is won.
   */
  expect(place: number): void {
    const bytes = this.#bytes;
    const last = bytes.length - 1;
    const from = this.#at(place) * UNIT_BYTES;
    let seen = 0;
    for (let line = 0; line < LINES; line++) seen ^= bytes[(from + line * LINE_BYTES) & last] as number;
    this.seen = seen;
  }

  holds(place: number): boolean {
    return place !== NO_PLACE && place >= this.#reached - this.#size;
  }

  /** Of what is held: it is good until then, and as long as the count is the same. */
  stamp(place: number, untilMs: number, count: number): void {
    const at = this.#at(place);
    this.#floats[at] = untilMs;
    this.#floats[at + 1] = count;
  }

  isGood(place: number, nowMs: number, count: number): boolean {
    const at = this.#at(place);
    return nowMs < (this.#floats[at] as number) && this.#floats[at + 1] === count;
  }

  kind(place: number): number {
    return this.#ints[2 * this.#at(place) + KIND] as number;
  }

  /** As UTF-8. A view of its own each time, which costs less than to wait for one that was made before; other bytes once it is not held. */
  bytes(place: number): Uint8Array {
    const at = this.#at(place);
    const from = at * UNIT_BYTES + HEAD_BYTES;
    return new Uint8Array(this.#memory, from, this.#ints[2 * at + LENGTH] as number);
  }

  #at(place: number): number {
    return place & (this.#size - 1);
  }
}
