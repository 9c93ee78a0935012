/** Where a text was kept: two small integers, which V8 keeps within whatever has them. A large number would lie beside it. */
export interface RingPlace {
  /** How often the ring had been gone round before. */
  readonly lap: number;
  readonly from: number;
}

/** A text that was kept, as UTF-8. */
export interface RingPiece extends RingPlace {
  /** Other bytes once the ring holds it no more. */
  readonly bytes: Uint8Array;
}

/** The most bytes of a UTF-16 unit. */
const UNIT_BYTES = 3;
/** Of a piece with memory of its own. */
const OUTSIDE = -1;

/**
 * The newest of many texts, in one memory: what is kept takes the place of the oldest. Who has a piece asks before each use whether
 * it is still held. A thousand answers in memory of their own were a thousand places to wait for besides their bytes, 0.4 us each
 * time one was sent, and only their number bounded them.
 */
export class ByteRing {
  readonly #bytes: Uint8Array;
  readonly #encoder = new TextEncoder();
  #lap = 0;
  /** Where the next piece begins. */
  #head = 0;

  /** @param capacity bytes; the system gives them as they are written to */
  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** A text that may be too long for the ring gets memory of its own. */
  keep(text: string): RingPiece {
    const capacity = this.#bytes.length;
    const most = text.length * UNIT_BYTES;
    if (most > capacity) return { bytes: this.#encoder.encode(text), lap: OUTSIDE, from: 0 };
    // In one piece: what is left at the end, and may be too little, is passed over.
    if (this.#head + most > capacity) {
      this.#head = 0;
      this.#lap += 1;
    }
    const from = this.#head;
    const { written } = this.#encoder.encodeInto(text, this.#bytes.subarray(from, from + most));
    this.#head += written;
    return { bytes: this.#bytes.subarray(from, from + written), lap: this.#lap, from };
  }

  holds({ lap, from }: RingPlace): boolean {
    return lap === this.#lap || lap === OUTSIDE || (lap === this.#lap - 1 && from >= this.#head);
  }
}
