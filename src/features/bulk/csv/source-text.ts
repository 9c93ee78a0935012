const CR = 0x0d;
const LF = 0x0a;

/** Counts line ends: LF, CR LF, CR. A CR as the last byte counts. */
export function countLineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === LF || (byte === CR && bytes[at + 1] !== LF)) count += 1;
  }
  return count;
}

/** Bytes kept of earlier pieces: a record that began there may be needed. */
const KEPT_BYTES = 4_096;

const NO_BYTES = Buffer.alloc(0);

/** A text as it is read, piece by piece: the numbers of its lines, and the bytes of records that have just ended. */
export class SourceText {
  #piece: Buffer = NO_BYTES;
  /** Position of the piece in the text, and line ends before it. */
  #pieceAt = 0;
  #linesBefore = 0;
  /** The bytes before the piece, and those before the next piece. They are copies, since pieces may be reused. */
  #tail: Buffer = NO_BYTES;
  #nextTail: Buffer = NO_BYTES;
  #nextAt = 0;
  #linesNext = 0;
  #endsInCr = false;

  /** The next piece. */
  push(piece: Buffer): void {
    // A line end of two bytes was cut.
    if (this.#endsInCr && piece[0] === LF) this.#linesNext -= 1;
    this.#pieceAt = this.#nextAt;
    this.#linesBefore = this.#linesNext;
    this.#tail = this.#nextTail;
    this.#piece = piece;
    this.#nextAt += piece.length;
    this.#linesNext += countLineEnds(piece);
    this.#nextTail = Buffer.concat([this.#tail, piece.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
    if (piece.length > 0) this.#endsInCr = piece.at(-1) === CR;
  }

  /** Line number, from 1. For a record that began before the last piece: the line of its end. */
  lineAt(position: number): number {
    const inPiece = this.#piece.subarray(0, Math.max(0, position - this.#pieceAt));
    return this.#linesBefore + countLineEnds(inPiece) + 1;
  }

  /** The bytes; undefined: they began too long ago. */
  between(start: number, end: number): Buffer | undefined {
    const from = start - this.#pieceAt;
    const to = end - this.#pieceAt;
    if (from >= 0) return this.#piece.subarray(from, to);
    if (-from > this.#tail.length) return undefined;
    const before = this.#tail.subarray(this.#tail.length + from);
    return Buffer.concat([before, this.#piece.subarray(0, Math.max(0, to))]).subarray(0, end - start);
  }
}
