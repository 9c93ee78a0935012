import {
  BACKSLASH,
  CR,
  type Dialect,
  firstBytesOf,
  isDelimiter,
  isSimple,
  LF,
  QUOTE,
  SECOND_BYTE_MIN,
  SPACE,
} from "./dialect.ts";
import { fieldValue, NULL_FIELD } from "./field.ts";
import type { CsvProblem } from "./problems.ts";
import {
  quoteNotClosed,
  type RecordPlace,
  recordTooLarge,
  suspiciousQuote,
  tooManyColumns,
} from "./scan-problems.ts";
import type { QuoteJudge, RecordScanner, RecordSink, ScanOptions } from "./scan-types.ts";
import { type ValuePlace, valueAt } from "./value-place.ts";

const NO_BYTES = Buffer.alloc(0);

const FIELD_START = 0;
const UNQUOTED = 1;
const QUOTED = 2;
/** After a quote in a quoted field: the closing one, or the first of two that stand for one. */
const QUOTE_SEEN = 3;

/** Meaning of a byte: ends an unquoted field, or is special within quotes; 0: literal in both. */
const STOP = 1;
/** A backslash, or the first byte of a character: it has the next byte beside it. */
const PAIRED = 2;
const LINE_END = 3;

/** Meaning of the next byte, from the byte before it. */
const NOT_PAIRED = 0;
const ESCAPED = 1;
/** A CR was escaped: a LF is, too. */
const ESCAPED_LF = 2;
const SECOND_BYTE = 3;

/** Flags of a record: a quoted field; a line end within a field; text behind a closing quote. */
const HAS_QUOTE = 1;
const HAS_LINE_END = 2;
const HAS_REST = 4;
/** The record's first bytes were in an earlier push. */
const IS_KEPT = 8;

/**
 * Finds the records of a list in its bytes, in memory bounded by one record.
 *
 * The delimiter separates fields; CR LF, LF or CR, even mixed, separate records. A quote opens only at the start of a
 * field. Within quotes, delimiters and line ends are part of the value, and `""` is a quote. After the closing quote the
 * field continues unquoted to its delimiter (fieldValue decides its value). An empty line is not a record; `""` is one. The
 * last record needs no line end. csv-parse reads every input the same way. dialect.ts has the differences between dialects.
 */
export function createRecordScanner(options: ScanOptions, sink: RecordSink): RecordScanner {
  return new Scanner(options, sink);
}

class Scanner implements RecordScanner {
  readonly #sink: RecordSink;
  readonly #options: ScanOptions;
  readonly #delimiter: number;
  readonly #passesSpaces: boolean;
  /** By byte: 1 for bytes at the start of a field that are not part of its value. */
  readonly #starts = new Uint8Array(256);
  readonly #hasPairs: boolean;
  readonly #judge: QuoteJudge | undefined;
  /** By byte: its meaning outside quotes, and within them. */
  readonly #stops = new Uint8Array(256);
  readonly #quotedStops = new Uint8Array(256);
  #state = FIELD_START;
  #pairing = NOT_PAIRED;
  /** HAS_… of the record. */
  #flags = 0;
  /** Bytes of the record from earlier pushes, for the judge. */
  #pieces: Buffer[] = [];
  /** Positions in the source, in bytes: the next byte to be pushed, the start of the record, the last opening quote. */
  #position: number;
  #recordStart: number;
  #quoteAt = 0;
  /** Position of that quote's closing one, if it has been read. */
  #closedAt = 0;
  /** Two quotes within the quoted field represent one. */
  #isDoubled = false;
  #records = 0;
  /** Fields of the record that have ended. */
  #columns = 0;
  readonly #address: ValuePlace = { bytes: NO_BYTES, from: 0, to: 0 };
  /** The address field's bytes from earlier pushes, if the field has not ended. */
  #carry = "";
  /** The record has ended with a CR, the last byte so far: a LF that comes next is part of its end. */
  #afterCr = false;
  #problem: CsvProblem | undefined;

  constructor(options: ScanOptions, sink: RecordSink) {
    if (!isDelimiter(options.delimiter)) throw new Error("a scanner without a delimiter");
    this.#options = options;
    this.#sink = sink;
    this.#delimiter = options.delimiter.charCodeAt(0);
    this.#passesSpaces = options.quotes === "after_space";
    if (options.quotes !== "text") this.#starts[QUOTE] = 1;
    if (this.#passesSpaces) this.#starts[SPACE] = 1;
    this.#hasPairs = !isSimple(options);
    this.#judge = options.judge;
    this.#setStops(options);
    this.#position = options.firstByte ?? 0;
    this.#recordStart = this.#position;
  }

  #setStops(dialect: Dialect): void {
    const firstBytes = firstBytesOf(dialect);
    for (const stops of [this.#stops, this.#quotedStops]) {
      if (firstBytes !== undefined)
        for (let byte = 0; byte < 256; byte++) stops[byte] = 2 * (firstBytes[byte] ?? 0);
      if (dialect.escapedBy !== undefined) stops[BACKSLASH] = PAIRED;
    }
    for (const byte of [this.#delimiter, CR, LF]) this.#stops[byte] = STOP;
    this.#quotedStops[QUOTE] = STOP;
    this.#quotedStops[CR] = LINE_END;
    this.#quotedStops[LF] = LINE_END;
  }

  push(bytes: Buffer): CsvProblem | undefined {
    if (this.#problem !== undefined || bytes.length === 0) return this.#problem;
    let from = 0;
    if (this.#afterCr) {
      from = bytes[0] === LF ? 1 : 0;
      this.#endRecord(bytes, this.#position + from);
    }
    if (this.#problem === undefined) this.#scan(bytes, from);
    if (this.#judge !== undefined) this.#keep(bytes);
    this.#position += bytes.length;
    if (this.#problem === undefined && !this.#afterCr) this.#checkLength(this.#position);
    return this.#problem;
  }

  end(): CsvProblem | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#afterCr) this.#endRecord(NO_BYTES, this.#position);
    else if (this.#state === QUOTED) {
      this.#problem = quoteNotClosed(this.#place(), this.#quoteAt, this.#options);
    } else if (this.#position > this.#recordStart) {
      this.#endField(NO_BYTES, 0, 0, this.#position);
      this.#endRecord(NO_BYTES, this.#position);
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

  /** End of the field that contains `from`: the index of its delimiter or line end, or the end of the bytes. */
  #fieldEnd(bytes: Buffer, from: number): number {
    const stops = this.#stops;
    const { length } = bytes;
    let i = from;
    if (this.#state === FIELD_START && this.#starts[bytes[i] as number] === 0) this.#state = UNQUOTED;
    else {
      if (this.#pairing !== NOT_PAIRED) i = this.#passPair(bytes, i);
      if (this.#state !== UNQUOTED) i = this.#quotedEnd(bytes, i);
      if (i === length) return i;
    }
    while (i < length && stops[bytes[i] as number] === 0) i += 1;
    return this.#hasPairs ? this.#passPairs(bytes, i) : i;
  }

  #passPairs(bytes: Buffer, from: number): number {
    const stops = this.#stops;
    const { length } = bytes;
    let i = from;
    while (i < length && stops[bytes[i] as number] !== STOP)
      i = stops[bytes[i] as number] === PAIRED ? this.#passPair(bytes, i) : i + 1;
    return i;
  }

  /**
   * Skips a byte that forms a pair with the next one, and the next one; or the second one from the last push. Returns the
   * index behind.
   */
  #passPair(bytes: Buffer, from: number): number {
    let i = from;
    if (this.#pairing === NOT_PAIRED) {
      this.#pairing = bytes[i] === BACKSLASH && this.#options.escapedBy !== undefined ? ESCAPED : SECOND_BYTE;
      i += 1;
    }
    if (i < bytes.length && this.#pairing === ESCAPED) {
      const byte = bytes[i] as number;
      if (byte !== BACKSLASH && this.#stops[byte] === PAIRED) {
        // The first byte of a two-byte character cannot be escaped.
        this.#pairing = NOT_PAIRED;
        return i;
      }
      if (byte === CR || byte === LF) this.#flags |= HAS_LINE_END;
      this.#pairing = byte === CR ? ESCAPED_LF : NOT_PAIRED;
      i += 1;
    }
    if (i === bytes.length || this.#pairing === NOT_PAIRED) return i;
    const byte = bytes[i] as number;
    const isPair = this.#pairing === ESCAPED_LF ? byte === LF : byte >= SECOND_BYTE_MIN;
    this.#pairing = NOT_PAIRED;
    return isPair ? i + 1 : i;
  }

  /** Reads the quoted part of a field, if it has one: the index behind it, or the end of the bytes. */
  #quotedEnd(bytes: Buffer, from: number): number {
    const stops = this.#quotedStops;
    const { length } = bytes;
    let i = from;
    if (this.#state === FIELD_START) {
      i = this.#passSpaces(bytes, from);
      if (i === length) return i;
      if (bytes[i] !== QUOTE) {
        this.#state = UNQUOTED;
        return i;
      }
      this.#quoteAt = this.#position + i;
      this.#closedAt = Number.POSITIVE_INFINITY;
      this.#isDoubled = false;
      this.#state = QUOTED;
      this.#flags |= HAS_QUOTE;
      i += 1;
    }
    while (i < length) {
      if (this.#state === QUOTED) {
        while (i < length && stops[bytes[i] as number] === 0) i += 1;
        if (i === length) break;
        if (bytes[i] !== QUOTE) {
          i = this.#passQuoted(bytes, i);
          continue;
        }
        this.#state = QUOTE_SEEN;
      } else if (bytes[i] === QUOTE) {
        this.#state = QUOTED;
        this.#isDoubled = true;
      } else {
        this.#closedAt = this.#position + i - 1;
        this.#state = UNQUOTED;
        if (this.#stops[bytes[i] as number] !== STOP) this.#flags |= HAS_REST;
        break;
      }
      i += 1;
    }
    return i;
  }

  #passSpaces(bytes: Buffer, from: number): number {
    let i = from;
    if (this.#passesSpaces) while (i < bytes.length && bytes[i] === SPACE) i += 1;
    return i;
  }

  /** A line end within quotes, or a pair. */
  #passQuoted(bytes: Buffer, i: number): number {
    if (this.#quotedStops[bytes[i] as number] === PAIRED) return this.#passPair(bytes, i);
    this.#flags |= HAS_LINE_END;
    return i + 1;
  }

  /** At the end of a line: ends the record, or skips an empty line. Returns the index of the next line. */
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
      this.#endRecord(bytes, this.#position + next);
      return next;
    }
    this.#afterCr = true;
    // The record is reported with the next bytes, when the buffer may hold others.
    this.#setAddress(valueAt(this.#address));
    return i + 1;
  }

  /** Ends a field whose part in `bytes` is `from` to before `to`. `end`: the field's end in the source. */
  #endField(bytes: Buffer, from: number, to: number, end: number): void {
    if (this.#columns === this.#options.emailColumn) this.#placeAddress(bytes, from, to);
    this.#columns += 1;
    if (this.#columns <= this.#options.columns) return;
    this.#checkLength(end);
    this.#problem ??= tooManyColumns(this.#place(), this.#options);
  }

  #placeAddress(bytes: Buffer, from: number, to: number): void {
    if (this.#carry === "" && this.#options.escapedBy === undefined) {
      if (from === to || this.#starts[bytes[from] as number] === 0)
        return void this.#setPlace(bytes, from, to);
      const isWhole = bytes[from] === QUOTE && this.#closedAt === this.#position + to - 1;
      if (isWhole && !this.#isDoubled) return void this.#setPlace(bytes, from + 1, to - 1);
    }
    const raw = this.#carry + bytes.toString("latin1", from, to);
    const isNull = raw === NULL_FIELD && this.#options.escapedBy !== undefined;
    this.#setAddress(isNull ? "" : fieldValue(raw, this.#options));
    this.#carry = "";
  }

  #setPlace(bytes: Buffer, from: number, to: number): void {
    this.#address.bytes = bytes;
    this.#address.from = from;
    this.#address.to = to;
  }

  #setAddress(value: string): void {
    this.#setPlace(Buffer.from(value, "latin1"), 0, value.length);
  }

  #endRecord(bytes: Buffer, end: number): void {
    this.#checkLength(end);
    if (this.#problem !== undefined) return;
    if (this.#flags !== 0 && !this.#isRight(bytes, end)) return;
    this.#records += 1;
    this.#sink(this.#recordStart, end, this.#columns, this.#address);
    this.#recordStart = end;
    this.#columns = 0;
    this.#address.from = this.#address.to;
    this.#state = FIELD_START;
    this.#afterCr = false;
  }

  /** True when the record's quotes are plausible. Drops its kept bytes. */
  #isRight(bytes: Buffer, end: number): boolean {
    const flags = this.#flags & ~IS_KEPT;
    const pieces = this.#pieces;
    this.#flags = 0;
    if (pieces.length > 0) this.#pieces = [];
    const judge = this.#judge;
    if (flags === 0 || judge === undefined) return true;
    if (flags === HAS_QUOTE && this.#columns === judge.width) return true;
    const rest = bytes.subarray(Math.max(0, this.#recordStart - this.#position), end - this.#position);
    const found = judge.judge(pieces.length === 0 ? rest : Buffer.concat([...pieces, rest]));
    if (found !== undefined) this.#problem = suspiciousQuote(this.#place(), found, this.#options);
    return found === undefined;
  }

  /** The record continues in the next bytes: keeps a copy, since the buffer may be reused. */
  #keep(bytes: Buffer): void {
    const from = Math.max(0, this.#recordStart - this.#position);
    if (from >= bytes.length) return;
    this.#pieces.push(Buffer.from(bytes.subarray(from)));
    this.#flags |= IS_KEPT;
  }

  judgeOpen(): CsvProblem | undefined {
    if (this.#problem !== undefined || this.#judge === undefined || this.#state !== QUOTED)
      return this.#problem;
    const found = this.#judge.judge(Buffer.concat(this.#pieces));
    return found === undefined ? undefined : suspiciousQuote(this.#place(), found, this.#options);
  }

  /** `end`: as far as the record is known to go. */
  #checkLength(end: number): void {
    const { recordBytes } = this.#options;
    if (end - this.#recordStart <= recordBytes) return;
    const limit = this.#recordStart + recordBytes;
    // Decided at the limit, not at the end of the present bytes: they may be cut anywhere.
    const isQuoted = this.#quoteAt >= this.#recordStart && this.#quoteAt < limit && this.#closedAt >= limit;
    const openQuote = isQuoted ? this.#quoteAt : undefined;
    this.#problem ??= recordTooLarge(this.#place(), openQuote, this.#options);
  }

  #place(): RecordPlace {
    return { records: this.#records, start: this.#recordStart };
  }
}
