const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
const FIRST_VISIBLE = 0x21;
const LAST_VISIBLE = 0x7e;

/** Of a record, what stands in it: a quote; a field that begins or ends with a space; a byte that JSON has otherwise, or may have. */
export const HAS_QUOTE = 1;
export const HAS_EDGE_SPACE = 2;
export const HAS_ESCAPED = 4;

/**
 * The records of some bytes as places in them: a string for each would cost more to collect than to write anew. What whoever
 * copies them must know is found in the same pass.
 */
export interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
  /** Of each record its first byte, and the one behind its last, without its end. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** HAS_…, and how many fields there are. Of a record with a quote only that is known. */
  readonly marks: Uint8Array;
  readonly fields: Uint16Array;
  /** The address's field, empty where the record is too short to have one. */
  readonly addressFrom: Uint32Array;
  readonly addressTo: Uint32Array;
}

/** By byte: what stands for itself everywhere, and what does not. */
const PLAIN = 0;
const DELIMITER = 1;
const END = 2;
const QUOTED = 3;
const BLANK = 4;
const ESCAPED = 5;

function kindsBy(delimiter: number): Uint8Array {
  const kinds = new Uint8Array(256).fill(ESCAPED);
  for (let byte = FIRST_VISIBLE; byte <= LAST_VISIBLE; byte++) if (byte !== BACKSLASH) kinds[byte] = PLAIN;
  kinds[SPACE] = BLANK;
  kinds[QUOTE] = QUOTED;
  kinds[LF] = END;
  kinds[CR] = END;
  kinds[delimiter] = DELIMITER;
  return kinds;
}

/**
 * Where the records of whole records' bytes stand, without their ends. Blank lines are none. It reads as the scanner does
 * (scan.ts), which besides bounds records and finds a field.
 * @param rows records that are expected: of more the first `rows` + 1 are found
 * @throws Error when a quote is not closed, which the analysis has refused before
 */
export function findLines(
  bytes: Buffer,
  { delimiter, emailColumn }: { delimiter: string; emailColumn: number },
  rows: number,
): Lines {
  const delimiterByte = delimiter.charCodeAt(0);
  const finder = new LineFinder(bytes, kindsBy(delimiterByte), emailColumn, rows);
  const { length } = bytes;
  let start = 0;
  while (start < length && finder.count <= rows) {
    const end = finder.take(start);
    start = bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
  }
  return finder;
}

class LineFinder implements Lines {
  readonly bytes: Buffer;
  count = 0;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly marks: Uint8Array;
  readonly fields: Uint16Array;
  readonly addressFrom: Uint32Array;
  readonly addressTo: Uint32Array;
  readonly #kinds: Uint8Array;
  readonly #emailColumn: number;

  constructor(bytes: Buffer, kinds: Uint8Array, emailColumn: number, rows: number) {
    this.bytes = bytes;
    this.#kinds = kinds;
    this.#emailColumn = emailColumn;
    this.from = new Uint32Array(rows + 1);
    this.to = new Uint32Array(rows + 1);
    this.marks = new Uint8Array(rows + 1);
    this.fields = new Uint16Array(rows + 1);
    this.addressFrom = new Uint32Array(rows + 1);
    this.addressTo = new Uint32Array(rows + 1);
  }

  /** Notes the record that begins at `start`, if it is not blank. @returns where the end of its line begins */
  take(start: number): number {
    const { bytes, count } = this;
    const kinds = this.#kinds;
    const emailColumn = this.#emailColumn;
    const { length } = bytes;
    let marks = 0;
    let column = 0;
    let fieldAt = start;
    let at = start;
    for (; at < length; at++) {
      const kind = kinds[bytes[at] as number];
      if (kind === PLAIN) continue;
      if (kind === DELIMITER) {
        if (column === emailColumn) this.#placeAddress(fieldAt, at);
        // A field that is nothing but a space has been marked where it begins.
        if (at > fieldAt && bytes[at - 1] === SPACE) marks |= HAS_EDGE_SPACE;
        column += 1;
        fieldAt = at + 1;
      } else if (kind === BLANK) {
        if (at === fieldAt) marks |= HAS_EDGE_SPACE;
      } else if (kind === ESCAPED) marks |= HAS_ESCAPED;
      else if (kind === END) break;
      else {
        marks |= HAS_QUOTE;
        // A quote opens only at the start of a field.
        if (at === fieldAt) at = endOfQuoted(bytes, at) - 1;
      }
    }
    if (at === start) return at;
    if (column === emailColumn) this.#placeAddress(fieldAt, at);
    else if (column < emailColumn) this.#placeAddress(at, at);
    if (at > fieldAt && bytes[at - 1] === SPACE) marks |= HAS_EDGE_SPACE;
    this.from[count] = start;
    this.to[count] = at;
    this.marks[count] = marks;
    this.fields[count] = column + 1;
    this.count = count + 1;
    return at;
  }

  #placeAddress(from: number, to: number): void {
    this.addressFrom[this.count] = from;
    this.addressTo[this.count] = to;
  }
}

/** Behind the quote that closes the one at `open`; two stand for one. */
function endOfQuoted(bytes: Buffer, open: number): number {
  let at = open + 1;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) throw new Error("a quote of a chunk's rows is not closed");
    if (bytes[quote + 1] !== QUOTE) return quote + 1;
    at = quote + 2;
  }
}

/** The record of this number as text, latin1: plain.ts tells its fields. */
export function lineAt({ bytes, from, to }: Pick<Lines, "bytes" | "from" | "to">, number: number): string {
  return bytes.toString("latin1", from[number], to[number]);
}
