/** Up to so many bytes of a larger buffer are copied in a loop, 1.6 ns each: a call costs 60 ns, as it makes a view first. */
const LOOP_BYTES = 40;

/** Those that are all of something. */
const FEW_BYTES = 16;

const ZERO = 0x30;

/**
 * Bytes of rows, one after the other, in a buffer that grows. Most of a row is there as bytes already; to make strings of them,
 * put these together and write them took twice the time, and half as much again to collect what was left of them.
 */
export class RowBuffer {
  bytes: Buffer;
  /** So many are written. */
  at = 0;

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytes);
  }

  /** Makes room for so many more. @returns the buffer, which is another one when it had to grow */
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

  /** What is the same in each row is kept as bytes of its own: of more than a few a call takes 20 to 30 ns, however many they are. */
  all(bytes: Uint8Array): void {
    const { length } = bytes;
    const target = this.reserve(length);
    let { at } = this;
    if (length > FEW_BYTES) target.set(bytes, at);
    else for (let i = 0; i < length; i++) target[at++] = bytes[i] as number;
    this.at += length;
  }

  /** In decimal. @param number whole, from 0 below 2^32 */
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

  /** What was written; of the buffer, which is written anew from here on. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.at);
    this.at = 0;
    return taken;
  }
}

/** Where rows are written, about so many bytes of them. */
export type RowBufferFactory = (bytes: number) => RowBuffer;

export const newRowBuffer: RowBufferFactory = (bytes) => new RowBuffer(bytes);

/**
 * One buffer again and again, for a caller that is done with some rows before it asks for the next: buffers of a kilobyte a
 * row, made anew, cost more to collect than to fill.
 */
export function createReusableRowBuffer(): RowBufferFactory {
  let room: RowBuffer | null = null;
  return (bytes) => {
    room ??= new RowBuffer(bytes);
    return room;
  };
}
