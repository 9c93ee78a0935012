import { BACKSLASH, CR, type Dialect, firstBytesOf, LF, QUOTE, SECOND_BYTE_MIN, SPACE } from "./dialect.ts";

const FIRST_VISIBLE = 0x21;
const LAST_VISIBLE = 0x7e;

/**
 * Marks of a record: it has a quote or an escape; a field begins or ends with a space; a byte is, or may be, written
 * differently in JSON; a field holds a line end; text follows a closing quote.
 */
export const HAS_QUOTE = 1;
export const HAS_EDGE_SPACE = 2;
export const HAS_ESCAPED = 4;
export const HAS_LINE_END = 8;
export const HAS_REST = 16;

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
 * Finds the records in bytes, one after the other: the one place that knows where they end.
 *
 * The delimiter separates fields; CR LF, LF or CR, even mixed, separate records. A quote opens only at the start of a
 * field. Within quotes, delimiters and line ends are part of the value, and `""` is a quote. After the closing quote the
 * field continues unquoted to its delimiter (fieldValue decides its value). An empty line is not a record; `""` is one. The
 * last record needs no line end. csv-parse reads every input the same way. dialect.ts has the differences between dialects.
 *
 * What was found is in its fields, not in an object for each record: there are millions.
 */
export class RecordFinder {
  /** Index of the first byte of the record that was found, or that has not ended; the end of the bytes if there is none. */
  from = 0;
  /** Index behind the record, and behind its line end. */
  to = 0;
  end = 0;
  /** HAS_…; with HAS_QUOTE, HAS_EDGE_SPACE and HAS_ESCAPED may be missing, because quoted text is skipped. */
  marks = 0;
  /** Number of fields that have ended. */
  fields = 0;
  /** The address's field, from the record's first byte on; empty where the record is too short to have one. */
  addressFrom = 0;
  addressTo = 0;
  /** Position of the quote that is not closed, from the record's first byte on; -1: none is open. */
  openAt = -1;
  readonly #kinds: Uint8Array;
  readonly #emailColumn: number;
  readonly #opensQuotes: boolean;
  readonly #passesSpaces: boolean;
  /** How far a record that has not ended was read, and where its last field begins, from its first byte on. */
  #readTo = 0;
  #fieldAt = 0;
  /** A quote opens only there. */
  #opensAt = 0;

  /** @param emailColumn counted from 0; -1: no field is wanted */
  constructor(dialect: Dialect, emailColumn: number) {
    this.#kinds = kindsBy(dialect);
    this.#emailColumn = emailColumn;
    this.#opensQuotes = dialect.quotes !== "text";
    this.#passesSpaces = dialect.quotes === "after_space";
  }

  /**
   * Finds the record at `start`, behind empty lines. If its end is not within the bytes, the next call continues: it passes the
   * bytes from `from` on again, with more behind them.
   * @param isAll no bytes follow
   * @returns false: there is no further record, or its end has not been read, or its quote is never closed
   */
  next(bytes: Buffer, start: number, isAll: boolean): boolean {
    const { length } = bytes;
    let from = start;
    if (this.#readTo === 0) {
      while (from < length && this.#kinds[bytes[from] as number] === END) from += 1;
      this.#begin();
    }
    this.from = from;
    if (from === length) return false;
    const to = this.#read(bytes, isAll);
    const isEnded = to < length ? this.#kinds[bytes[to] as number] === END : isAll;
    if (!isEnded || this.openAt >= 0) return false;
    // A LF that follows a CR is part of the end.
    const mayFollow = to + 1 === length && !isAll;
    if (mayFollow && bytes[to] === CR) return false;
    this.#endFields(bytes, to);
    this.to = to;
    this.end = Math.min(length, bytes[to] === CR && bytes[to + 1] === LF ? to + 2 : to + 1);
    this.#readTo = 0;
    return true;
  }

  /** True when the last byte of the unfinished record is a quote that closes the open one, unless it is doubled. */
  mayClose(record: Buffer): boolean {
    return record[this.#readTo] === QUOTE;
  }

  #begin(): void {
    this.marks = 0;
    this.fields = 0;
    this.addressFrom = 0;
    this.addressTo = 0;
    this.openAt = -1;
    this.#fieldAt = 0;
    this.#opensAt = 0;
  }

  /** Continues to the record's line end. @returns its index, or that of the first byte that is read again with those that follow */
  #read(bytes: Buffer, isAll: boolean): number {
    const { from } = this;
    const kinds = this.#kinds;
    const emailColumn = this.#emailColumn;
    const { length } = bytes;
    let fields = this.fields;
    let marks = 0;
    let fieldAt = from + this.#fieldAt;
    let opensAt = from + this.#opensAt;
    let at = from + this.#readTo;
    if (this.openAt >= 0) at = this.#passQuoted(bytes, at, isAll);
    for (; this.openAt < 0 && at < length; at++) {
      const kind = kinds[bytes[at] as number];
      if (kind === PLAIN) continue;
      if (kind === DELIMITER) {
        if (fields === emailColumn) this.#placeAddress(fieldAt, at);
        // A field that is nothing but a space has been marked where it begins.
        if (at > fieldAt && bytes[at - 1] === SPACE) marks |= HAS_EDGE_SPACE;
        fields += 1;
        fieldAt = at + 1;
        opensAt = fieldAt;
      } else if (kind === BLANK) {
        if (at === fieldAt) marks |= HAS_EDGE_SPACE;
        if (at === opensAt && this.#passesSpaces) opensAt += 1;
      } else if (kind === ESCAPED) marks |= HAS_ESCAPED;
      else if (kind === END) break;
      else if (kind === PAIRED) {
        marks |= HAS_QUOTE;
        const pair = this.#pairLength(bytes, at, isAll);
        if (pair === 0) break;
        at += pair - 1;
      } else {
        marks |= HAS_QUOTE;
        if (at !== opensAt || !this.#opensQuotes) continue;
        this.openAt = at - from;
        at = this.#passQuoted(bytes, at + 1, isAll);
        if (this.openAt >= 0) break;
        at -= 1;
      }
    }
    this.marks |= marks;
    this.fields = fields;
    this.#fieldAt = fieldAt - from;
    this.#opensAt = opensAt - from;
    this.#readTo = at - from;
    return at;
  }

  /** The last field has ended. */
  #endFields(bytes: Buffer, to: number): void {
    const fieldAt = this.from + this.#fieldAt;
    if (this.fields === this.#emailColumn) this.#placeAddress(fieldAt, to);
    else if (this.fields < this.#emailColumn) this.#placeAddress(to, to);
    if (to > fieldAt && bytes[to - 1] === SPACE) this.marks |= HAS_EDGE_SPACE;
    this.fields += 1;
  }

  #placeAddress(from: number, to: number): void {
    this.addressFrom = from - this.from;
    this.addressTo = to - this.from;
  }

  /**
   * Continues within quotes. A doubled quote does not close them.
   * @returns the index behind the quote that closes them; while they are open, as `#read`
   */
  #passQuoted(bytes: Buffer, start: number, isAll: boolean): number {
    const kinds = this.#kinds;
    const { length } = bytes;
    let at = start;
    while (at < length) {
      const kind = kinds[bytes[at] as number];
      if (kind === QUOTED) {
        if (at + 1 === length && !isAll) return at;
        if (bytes[at + 1] !== QUOTE) return this.#close(bytes, at + 1);
        at += 2;
      } else if (kind === PAIRED) {
        const pair = this.#pairLength(bytes, at, isAll);
        if (pair === 0) return at;
        at += pair;
      } else {
        if (kind === END) this.marks |= HAS_LINE_END;
        at += 1;
      }
    }
    return at;
  }

  #close(bytes: Buffer, behind: number): number {
    this.openAt = -1;
    const kind = behind === bytes.length ? END : this.#kinds[bytes[behind] as number];
    if (kind !== DELIMITER && kind !== END) this.marks |= HAS_REST;
    return behind;
  }

  /** Number of bytes of the sequence that a PAIRED byte begins; 0: the bytes that follow decide. */
  #pairLength(bytes: Buffer, at: number, isAll: boolean): number {
    const next = bytes[at + 1];
    if (next === undefined) return isAll ? 1 : 0;
    // Same rules as `lengthAt`.
    if (bytes[at] !== BACKSLASH) return next >= SECOND_BYTE_MIN ? 2 : 1;
    if (next !== BACKSLASH && this.#kinds[next] === PAIRED) return 1;
    if (next === CR && at + 2 === bytes.length && !isAll) return 0;
    if (next === CR || next === LF) this.marks |= HAS_LINE_END;
    return next === CR && bytes[at + 2] === LF ? 3 : 2;
  }
}
