/**
 * Up to this many bytes of a larger buffer are copied in a loop, 1.6 ns each: a call costs 60 ns, as it makes a view first.
 */
const LOOP_BYTES = 40;

/** Those that are all of something. */
const FEW_BYTES = 16;

const ZERO = 0x30;

/**
 * Bytes of rows, one after the other, in a buffer that grows. Most parts of a row exist as bytes already. Making, joining
 * and writing strings took twice the time, and half as much again to collect them.
 */
export class RowBuffer {
  bytes: Buffer;
  /** Number of bytes written. */
  at = 0;

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytes);
  }

  /** Makes room for `more` bytes. @returns the buffer, which is a new one when it had to grow */
  reserve(more: number): Buffer {
    const needed = this.at + more;
    if (needed <= this.bytes.length) return this.bytes;
    const grown = Buffer.allocUnsafeSlow(Math.ceil(needed * 1.5));
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
    return grown;
  }

  /** A text of characters that are a byte each. */
  text(text: string): void {
    this.at += this.reserve(text.length).write(text, this.at, "latin1");
  }

  /** Those from `from` to before `to`. */
  part(bytes: Buffer, from: number, to: number): void {
    const target = this.reserve(to - from);
    if (to - from > LOOP_BYTES) {
      this.at += bytes.copy(target, this.at, from, to);
      return;
    }
    let { at } = this;
    for (let i = from; i < to; i++) target[at++] = bytes[i] as number;
    this.at = at;
  }

  /**
   * Appends all of `bytes`, for parts that are the same in each row. Above a few bytes the call takes 20 to 30 ns,
   * independent of the length.
   */
  all(bytes: Uint8Array): void {
    const { length } = bytes;
    const target = this.reserve(length);
    let { at } = this;
    if (length > FEW_BYTES) target.set(bytes, at);
    else for (let i = 0; i < length; i++) target[at++] = bytes[i] as number;
    this.at += length;
  }

  /** Appends a number in decimal. @param number whole, from 0 below 2^32 */
  number(number: number): void {
    let digits = 1;
    for (let over = 10; over <= number; over *= 10) digits += 1;
    const target = this.reserve(digits);
    let rest = number;
    for (let i = this.at + digits - 1; i >= this.at; i--) {
      const left = Math.floor(rest / 10);
      target[i] = ZERO + rest - left * 10;
      rest = left;
    }
    this.at += digits;
  }

  /** The written part of the buffer. The next write overwrites it. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.at);
    this.at = 0;
    return taken;
  }
}

/** Creates a buffer for about `bytes` bytes of rows. */
export type RowBufferFactory = (bytes: number) => RowBuffer;

export const newRowBuffer: RowBufferFactory = (bytes) => new RowBuffer(bytes);

/**
 * Reuses one buffer, for a caller that is done with some rows before it asks for the next. New buffers of a kilobyte a row
 * cost more to collect than to fill.
 */
export function createReusableRowBuffer(): RowBufferFactory {
  let room: RowBuffer | null = null;
  return (bytes) => {
    room ??= new RowBuffer(bytes);
    return room;
  };
}
