/** Slots of the table, a power of two, and the longest line that is cached. Servers repeat a handful of lines. */
const SLOTS = 1_024;
const LINE_BYTES = 160;

const LF = 0x0a;
const AT = 0x40;

interface CachedReply<Reply> {
  /** The whole line with its LF. */
  bytes: Buffer;
  reply: Reply;
}

/**
 * One-line replies read before, by their bytes. Reading one again creates no string, no object and runs no regular
 * expression: 0.1 µs instead of 0.7. A repeated reply is the same object, so values derived from it can be found by
 * identity. Bounded: a line has one slot and evicts the line there. Lines with an `@` are left out: they repeat the address
 * that was asked for and rarely come twice.
 */
export class ReplyCache<Reply> {
  readonly #table = new Array<CachedReply<Reply> | undefined>(SLOTS).fill(undefined);
  #hash = 0;
  #isCacheable = false;

  /**
   * Index of the LF at or after `start`, among the first `length` bytes; -1 without one. `find` and `store` then refer to
   * this line.
   */
  findLineEnd(chunk: Buffer, start: number, length = chunk.length): number {
    let hash = 0x811c9dc5;
    let at = false;
    for (let i = start; i < length; i++) {
      const byte = chunk[i] as number;
      if (byte === LF) {
        this.#hash = (hash ^ (hash >>> 15)) & (SLOTS - 1);
        this.#isCacheable = !at && i - start < LINE_BYTES;
        return i;
      }
      if (byte === AT) at = true;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    return -1;
  }

  /** The cached reply for the line; null: it is not cached. */
  find(chunk: Buffer, start: number, end: number): Reply | null {
    if (!this.#isCacheable) return null;
    const known = this.#table[this.#hash];
    if (known === undefined || known.bytes.length !== end + 1 - start) return null;
    const { bytes } = known;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== chunk[start + i]) return null;
    return known.reply;
  }

  /** The line may come again: it is short and holds no address. */
  get isCacheable(): boolean {
    return this.#isCacheable;
  }

  /** @param reply the frozen parse of the line; the line must be `isCacheable` */
  store(chunk: Buffer, start: number, end: number, reply: Reply): void {
    this.#table[this.#hash] = { bytes: Buffer.from(chunk.subarray(start, end + 1)), reply };
  }
}
