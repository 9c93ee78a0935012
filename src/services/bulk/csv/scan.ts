import { fieldValue, isDelimiter } from "./field.ts";
import type { CsvProblem } from "./problems.ts";
import { type ValuePlace, valueAt } from "./value-place.ts";

export interface ScanOptions {
  /** One ASCII character. */
  delimiter: string;
  /** Counted from 0. */
  emailColumn: number;
  /** Of the longest record, its end included. */
  recordBytes: number;
  /** Of the widest record. */
  columns: number;
  /** Where in the source the first byte that is pushed stands; 0 unless told. */
  firstByte?: number;
  /** What details call the first record, in a sentence; "row 1" unless told. */
  firstRow?: string;
  /** What the bytes are counted of, behind their number (text-form.ts); "" unless told. */
  bytesOf?: string;
}

/**
 * Told of each record, in order: from its first byte to after its end, in bytes of the source; how many fields it has;
 * and where the value of the address field stands, which is empty when the record is too short to have one. That is one object
 * for all records; the bytes are those that were pushed last, or a copy.
 */
export type RecordSink = (start: number, end: number, columns: number, address: ValuePlace) => void;

export interface RecordScanner {
  /** Takes the next bytes, however the source is cut. After a problem nothing more is read, and it is told again. */
  push(bytes: Buffer): CsvProblem | undefined;
  /** No more bytes follow: the last record may have no end. */
  end(): CsvProblem | undefined;
  /** Where the quote stands within which the bytes have come to their end so far; undefined: none is open. */
  openQuote(): number | undefined;
}

const NO_BYTES = Buffer.alloc(0);
const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;

const FIELD_START = 0;
const UNQUOTED = 1;
const QUOTED = 2;
/** After a quote in a quoted field: the closing one, or the first of two that stand for one. */
const QUOTE_SEEN = 3;

/**
 * Finds the records of a list in its bytes, in memory bounded by one record.
 *
 * Fields are parted by the delimiter, records by CR LF, LF or CR, mixed as they come. A quote opens only at the start of
 * a field; within quotes delimiters and ends of lines are part of the value, `""` is a quote. After the closing quote the
 * field goes on unquoted to its delimiter (fieldValue says what it is then). A line of no bytes is no record; `""` is
 * one. The last record needs no end. csv-parse, which reads the fields (parse.ts), reads every input the same way.
 */
export function createRecordScanner(options: ScanOptions, sink: RecordSink): RecordScanner {
  return new Scanner(options, sink);
}

class Scanner implements RecordScanner {
  readonly #sink: RecordSink;
  readonly #options: ScanOptions;
  readonly #delimiter: number;
  /** By byte: 1 for what ends an unquoted field. */
  readonly #stops = new Uint8Array(256);
  #state = FIELD_START;
  /** In bytes of the source: the next byte to be pushed, where the record began, where a quote opened last. */
  #position: number;
  #recordStart: number;
  #quoteAt = 0;
  /** Where that quote's closing one stands, if it has come. */
  #closedAt = 0;
  #records = 0;
  /** Fields of the record that have ended. */
  #columns = 0;
  readonly #address: ValuePlace = { bytes: NO_BYTES, from: 0, to: 0 };
  /** What earlier pushes held of the address field, when it has not ended. */
  #carry = "";
  /** The record has ended with a CR, the last byte so far: a LF that comes next is part of its end. */
  #afterCr = false;
  #problem: CsvProblem | undefined;

  constructor(options: ScanOptions, sink: RecordSink) {
    if (!isDelimiter(options.delimiter)) throw new Error("a scanner without a delimiter");
    this.#options = options;
    this.#sink = sink;
    this.#delimiter = options.delimiter.charCodeAt(0);
    for (const byte of [this.#delimiter, CR, LF]) this.#stops[byte] = 1;
    this.#position = options.firstByte ?? 0;
    this.#recordStart = this.#position;
  }

  push(bytes: Buffer): CsvProblem | undefined {
    if (this.#problem !== undefined || bytes.length === 0) return this.#problem;
    let from = 0;
    if (this.#afterCr) {
      from = bytes[0] === LF ? 1 : 0;
      this.#endRecord(this.#position + from);
    }
    if (this.#problem === undefined) this.#scan(bytes, from);
    this.#position += bytes.length;
    if (this.#problem === undefined && !this.#afterCr) this.#checkLength(this.#position);
    return this.#problem;
  }

  end(): CsvProblem | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#afterCr) this.#endRecord(this.#position);
    else if (this.#state === QUOTED) {
      const detail = `The quote at ${this.#byte(this.#quoteAt)}, in ${this.#rowAtHand()}, is never closed.`;
      this.#problem = { code: "quote_not_closed", detail };
    } else if (this.#position > this.#recordStart) {
      this.#endField(NO_BYTES, 0, 0, this.#position);
      this.#endRecord(this.#position);
    }
    return this.#problem;
  }

  openQuote(): number | undefined {
    return this.#state === QUOTED ? this.#quoteAt : undefined;
  }

  #scan(bytes: Buffer, from: number): void {
    const { length } = bytes;
    let fieldStart = from;
    while (fieldStart < length) {
      const i = this.#fieldEnd(bytes, fieldStart);
      if (i === length) {
        if (this.#columns === this.#options.emailColumn)
          this.#carry += bytes.toString("latin1", fieldStart, i);
        return;
      }
      if (bytes[i] === this.#delimiter) {
        this.#endField(bytes, fieldStart, i, this.#position + i);
        fieldStart = i + 1;
      } else fieldStart = this.#endLine(bytes, fieldStart, i);
      if (this.#problem !== undefined) return;
      this.#state = FIELD_START;
    }
  }

  /** Where the field ends in which `from` is: the index of its delimiter or end of line, or the end of the bytes. */
  #fieldEnd(bytes: Buffer, from: number): number {
    const stops = this.#stops;
    const { length } = bytes;
    let i = from;
    if (this.#state !== UNQUOTED) {
      i = this.#quotedEnd(bytes, from);
      if (i === length) return i;
    }
    while (i < length && stops[bytes[i] as number] === 0) i += 1;
    return i;
  }

  /** Reads the quoted part of a field, if it has one: the index of what follows it, or the end of the bytes. */
  #quotedEnd(bytes: Buffer, from: number): number {
    const { length } = bytes;
    let i = from;
    if (this.#state === FIELD_START) {
      if (bytes[i] !== QUOTE) {
        this.#state = UNQUOTED;
        return i;
      }
      this.#quoteAt = this.#position + i;
      this.#closedAt = Number.POSITIVE_INFINITY;
      this.#state = QUOTED;
      i += 1;
    }
    while (i < length) {
      if (this.#state === QUOTED) {
        while (i < length && bytes[i] !== QUOTE) i += 1;
        if (i === length) break;
        this.#state = QUOTE_SEEN;
      } else if (bytes[i] === QUOTE) this.#state = QUOTED;
      else {
        this.#closedAt = this.#position + i - 1;
        this.#state = UNQUOTED;
        break;
      }
      i += 1;
    }
    return i;
  }

  /** At the end of a line: of a record, or of one without a byte, which is skipped. Returns where the next begins. */
  #endLine(bytes: Buffer, fieldStart: number, i: number): number {
    const position = this.#position + i;
    if (position === this.#recordStart) {
      this.#recordStart = position + 1;
      return i + 1;
    }
    this.#endField(bytes, fieldStart, i, position);
    if (this.#problem !== undefined) return i;
    if (bytes[i] === LF || i + 1 < bytes.length) {
      const next = bytes[i] === CR && bytes[i + 1] === LF ? i + 2 : i + 1;
      this.#endRecord(this.#position + next);
      return next;
    }
    this.#afterCr = true;
    // It is told with the next bytes, when these may be others.
    this.#setAddress(valueAt(this.#address));
    return i + 1;
  }

  /** What the bytes at hand hold of the field is `from` to before `to`. `end`: of the field, in the source. */
  #endField(bytes: Buffer, from: number, to: number, end: number): void {
    if (this.#columns === this.#options.emailColumn) this.#placeAddress(bytes, from, to);
    this.#columns += 1;
    if (this.#columns <= this.#options.columns) return;
    this.#checkLength(end);
    this.#problem ??= {
      code: "too_many_columns",
      detail: `${this.#beginning()} has more than ${this.#options.columns} columns.`,
    };
  }

  #placeAddress(bytes: Buffer, from: number, to: number): void {
    if (this.#carry === "" && (from === to || bytes[from] !== QUOTE)) {
      this.#address.bytes = bytes;
      this.#address.from = from;
      this.#address.to = to;
      return;
    }
    this.#setAddress(fieldValue(this.#carry + bytes.toString("latin1", from, to)));
    this.#carry = "";
  }

  #setAddress(value: string): void {
    this.#address.bytes = Buffer.from(value, "latin1");
    this.#address.from = 0;
    this.#address.to = value.length;
  }

  #endRecord(end: number): void {
    this.#checkLength(end);
    if (this.#problem !== undefined) return;
    this.#records += 1;
    this.#sink(this.#recordStart, end, this.#columns, this.#address);
    this.#recordStart = end;
    this.#columns = 0;
    this.#address.from = this.#address.to;
    this.#state = FIELD_START;
    this.#afterCr = false;
  }

  /** `end`: as far as the record is known to go. */
  #checkLength(end: number): void {
    const { recordBytes } = this.#options;
    if (end - this.#recordStart <= recordBytes) return;
    const limit = this.#recordStart + recordBytes;
    // Of where the bound is, not of how far the bytes at hand go: they may be cut anywhere.
    const isQuoted = this.#quoteAt >= this.#recordStart && this.#quoteAt < limit && this.#closedAt >= limit;
    const cause = isQuoted ? ` ${quoteHint(this.#byte(this.#quoteAt))}` : "";
    this.#problem ??= {
      code: "record_too_large",
      detail: `${this.#beginning()} is longer than ${recordBytes} bytes.${cause}`,
    };
  }

  #rowAtHand(): string {
    const { firstRow } = this.#options;
    return this.#records === 0 && firstRow !== undefined ? firstRow : `row ${this.#records + 1}`;
  }

  #beginning(): string {
    const row = this.#rowAtHand();
    return `${row[0]?.toUpperCase()}${row.slice(1)}, which begins at ${this.#byte(this.#recordStart)},`;
  }

  #byte(position: number): string {
    return `byte ${position}${this.#options.bytesOf ?? ""}`;
  }
}

/** `where`: the byte of a quote that is open where it should not be any more. */
export function quoteHint(where: string): string {
  return `The quote at ${where} is still open there: one that is not closed makes one row of all that follows.`;
}
