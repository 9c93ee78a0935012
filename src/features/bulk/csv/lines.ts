import { BACKSLASH, CR, type Dialect, firstBytesOf, LF, QUOTE, SECOND_BYTE_MIN, SPACE } from "./dialect.ts";

const FIRST_VISIBLE = 0x21;
const LAST_VISIBLE = 0x7e;

/**
 * Marks of a record: it has a quote or an escape; a field begins or ends with a space; a byte is, or may be, written
 * differently in JSON.
 */
export const HAS_QUOTE = 1;
export const HAS_EDGE_SPACE = 2;
export const HAS_ESCAPED = 4;

/**
 * The records of some bytes as positions in them: a string for each would cost more to collect than to write again. The
 * same pass finds the marks that copying the records needs.
 */
export interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
  /** Positions of each record's first byte, and of the byte behind its last one, without the line end. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** HAS_… of each record. With HAS_QUOTE the other marks may be missing, because quoted text is skipped. */
  readonly marks: Uint8Array;
  /** Number of fields of each record. */
  readonly fields: Uint16Array;
  /** The address's field, empty where the record is too short to have one. */
  readonly addressFrom: Uint32Array;
  readonly addressTo: Uint32Array;
}

/** Kinds of bytes: literal ones, and those with a meaning. */
const PLAIN = 0;
const DELIMITER = 1;
const END = 2;
const QUOTED = 3;
const BLANK = 4;
const ESCAPED = 5;
/** A backslash that escapes, or the first byte of a character: the next one may go with it. */
const PAIRED = 6;

function kindsBy(dialect: Dialect): Uint8Array {
  const kinds = new Uint8Array(256).fill(ESCAPED);
  for (let byte = FIRST_VISIBLE; byte <= LAST_VISIBLE; byte++) if (byte !== BACKSLASH) kinds[byte] = PLAIN;
  kinds[SPACE] = BLANK;
  kinds[QUOTE] = QUOTED;
  kinds[LF] = END;
  kinds[CR] = END;
  const firstBytes = firstBytesOf(dialect);
  if (firstBytes !== undefined)
    for (let byte = 0; byte < 256; byte++) if (firstBytes[byte] === 1) kinds[byte] = PAIRED;
  if (dialect.escapedBy !== undefined) kinds[BACKSLASH] = PAIRED;
  kinds[dialect.delimiter.charCodeAt(0)] = DELIMITER;
  return kinds;
}

/**
 * Finds the records in bytes of whole records, without their line ends. Blank lines are skipped. It applies the rules of
 * the scanner (scan.ts), which in addition limits records and finds a field.
 * @param rows expected records: at most `rows` + 1 are returned
 * @throws Error when a quote is not closed, which the analysis has refused before
 */
export function findLines(bytes: Buffer, layout: Dialect & { emailColumn: number }, rows: number): Lines {
  const finder = new LineFinder(bytes, layout, rows);
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
  readonly #hasPairs: boolean;
  readonly #opensQuotes: boolean;
  readonly #passesSpaces: boolean;

  constructor(bytes: Buffer, layout: Dialect & { emailColumn: number }, rows: number) {
    this.bytes = bytes;
    this.#kinds = kindsBy(layout);
    this.#emailColumn = layout.emailColumn;
    this.#hasPairs = this.#kinds.includes(PAIRED);
    this.#opensQuotes = layout.quotes !== "text";
    this.#passesSpaces = layout.quotes === "after_space";
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
    /** A quote opens only there. */
    let opensAt = start;
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
        opensAt = fieldAt;
      } else if (kind === BLANK) {
        if (at === fieldAt) marks |= HAS_EDGE_SPACE;
        if (at === opensAt && this.#passesSpaces) opensAt += 1;
      } else if (kind === ESCAPED) marks |= HAS_ESCAPED;
      else if (kind === END) break;
      else if (kind === PAIRED) {
        marks |= HAS_QUOTE;
        at += this.#pairLength(at) - 1;
      } else {
        marks |= HAS_QUOTE;
        if (at === opensAt && this.#opensQuotes) at = this.#endOfQuoted(at) - 1;
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

  /** Index after the quote that closes the one at `open`. A doubled quote does not close it. */
  #endOfQuoted(open: number): number {
    let quote = this.#nextQuote(open + 1);
    while (this.bytes[quote + 1] === QUOTE) quote = this.#nextQuote(quote + 2);
    return quote + 1;
  }

  #nextQuote(from: number): number {
    const { bytes } = this;
    let at = from;
    if (this.#hasPairs)
      while (at < bytes.length && bytes[at] !== QUOTE)
        at += this.#kinds[bytes[at] as number] === PAIRED ? this.#pairLength(at) : 1;
    else at = bytes.indexOf(QUOTE, from);
    if (at < 0 || at >= bytes.length) throw new Error("a quote of a chunk's rows is not closed");
    return at;
  }

  /** Number of bytes of the sequence that a PAIRED byte begins. */
  #pairLength(at: number): number {
    const { bytes } = this;
    const next = bytes[at + 1];
    if (next === undefined) return 1;
    // Same rules as `lengthAt`.
    if (bytes[at] !== BACKSLASH) return next >= SECOND_BYTE_MIN ? 2 : 1;
    if (next !== BACKSLASH && this.#kinds[next] === PAIRED) return 1;
    return next === CR && bytes[at + 2] === LF ? 3 : 2;
  }
}

/** The record of this number as text, latin1: `fieldsOf` tells its fields. */
export function lineAt({ bytes, from, to }: Pick<Lines, "bytes" | "from" | "to">, number: number): string {
  return bytes.toString("latin1", from[number], to[number]);
}
