import { isDelimiter, QUOTE, SPACE } from "./dialect.ts";
import { fieldValue, NULL_FIELD } from "./field.ts";
import type { CsvProblem } from "./problems.ts";
import { HAS_LINE_END, HAS_QUOTE, HAS_REST, RecordFinder } from "./record-finder.ts";
import {
  quoteNotClosed,
  type RecordPlace,
  recordTooLarge,
  suspiciousQuote,
  tooManyColumns,
} from "./scan-problems.ts";
import type { RecordScanner, RecordSink, ScanOptions } from "./scan-types.ts";
import type { ValuePlace } from "./value-place.ts";

const NO_BYTES = Buffer.alloc(0);

/** First bytes of a field that may not be part of its value. */
const OPENS: ReadonlySet<number> = new Set([QUOTE, SPACE]);

/**
 * Finds the records of a list in its bytes, as they come, in memory bounded by a record and a piece. RecordFinder has the
 * rules; here a record is limited, its quotes are judged, and its address is read.
 */
export function createRecordScanner(options: ScanOptions, sink: RecordSink): RecordScanner {
  return new Scanner(options, sink);
}

class Scanner implements RecordScanner {
  readonly #sink: RecordSink;
  readonly #options: ScanOptions;
  readonly #finder: RecordFinder;
  /** The bytes of the record that has not ended, and their position in the source. */
  #left: Buffer = NO_BYTES;
  #leftAt: number;
  /** For a record that is in several pushes, since their buffers may be reused. It grows. */
  #room: Buffer = NO_BYTES;
  #records = 0;
  readonly #address: ValuePlace = { bytes: NO_BYTES, from: 0, to: 0 };
  #problem: CsvProblem | undefined;

  constructor(options: ScanOptions, sink: RecordSink) {
    if (!isDelimiter(options.delimiter)) throw new Error("a scanner without a delimiter");
    this.#options = options;
    this.#sink = sink;
    this.#finder = new RecordFinder(options, options.emailColumn);
    this.#leftAt = options.firstByte ?? 0;
  }

  push(bytes: Buffer): CsvProblem | undefined {
    if (this.#problem !== undefined || bytes.length === 0) return this.#problem;
    const all = this.#left.length === 0 ? bytes : this.#join(bytes);
    this.#read(all, false);
    const left = all.subarray(this.#finder.from);
    this.#left = all === bytes ? Buffer.from(left) : left;
    this.#leftAt += this.#finder.from;
    return this.#problem;
  }

  end(): CsvProblem | undefined {
    if (this.#problem !== undefined) return this.#problem;
    this.#read(this.#left, true);
    const { openAt } = this.#finder;
    if (openAt >= 0) this.#problem ??= quoteNotClosed(this.#place(), this.#leftAt + openAt, this.#options);
    return this.#problem;
  }

  openQuote(): number | undefined {
    const { openAt } = this.#finder;
    return openAt < 0 || this.#finder.mayClose(this.#left) ? undefined : this.#leftAt + openAt;
  }

  judgeOpen(): CsvProblem | undefined {
    if (this.#problem !== undefined || this.openQuote() === undefined) return this.#problem;
    return this.#judge(this.#left);
  }

  /** What is left stays in the room: places of addresses are valid until the next push. */
  #join(more: Buffer): Buffer {
    const left = this.#left;
    const length = left.length + more.length;
    const room = this.#room.length < length ? Buffer.allocUnsafe(2 * length) : this.#room;
    room.set(left);
    room.set(more, left.length);
    this.#room = room;
    return room.subarray(0, length);
  }

  #read(bytes: Buffer, isAll: boolean): void {
    const finder = this.#finder;
    let at = 0;
    while (this.#problem === undefined && finder.next(bytes, at, isAll)) {
      this.#endRecord(bytes);
      at = finder.end;
    }
    this.#problem ??= this.#beyondBounds(bytes, bytes.length);
  }

  #endRecord(bytes: Buffer): void {
    const finder = this.#finder;
    const { from, end } = finder;
    this.#problem = this.#beyondBounds(bytes, end) ?? this.#suspicion(bytes);
    if (this.#problem !== undefined) return;
    this.#placeAddress(bytes, from + finder.addressFrom, from + finder.addressTo);
    this.#records += 1;
    this.#sink(this.#leftAt + from, this.#leftAt + end, finder.fields, this.#address);
  }

  /** @param end as far as the record is known to go */
  #beyondBounds(bytes: Buffer, end: number): CsvProblem | undefined {
    const { recordBytes, columns } = this.#options;
    const { from, fields } = this.#finder;
    if (end - from <= recordBytes)
      return fields <= columns ? undefined : tooManyColumns(this.#place(), this.#options);
    // Decided at the limit, not at the end of the present bytes: they may be cut anywhere.
    const within = new RecordFinder(this.#options, -1);
    within.next(bytes.subarray(from, from + recordBytes + 1), 0, false);
    if (within.fields > columns) return tooManyColumns(this.#place(), this.#options);
    const { openAt } = within;
    const openQuote = openAt >= 0 && openAt < recordBytes ? this.#leftAt + from + openAt : undefined;
    return recordTooLarge(this.#place(), openQuote, this.#options);
  }

  /** Of the record that was found. */
  #suspicion(bytes: Buffer): CsvProblem | undefined {
    const { judge } = this.#options;
    const { marks, fields, from, end } = this.#finder;
    if (judge === undefined || (marks & (HAS_QUOTE | HAS_LINE_END)) === 0) return undefined;
    if ((marks & (HAS_LINE_END | HAS_REST)) === 0 && fields === judge.width) return undefined;
    return this.#judge(bytes.subarray(from, end));
  }

  #judge(record: Buffer): CsvProblem | undefined {
    const found = this.#options.judge?.judge(record);
    return found === undefined ? undefined : suspiciousQuote(this.#place(), found, this.#options);
  }

  /** A value that is in the bytes as it is has its place there; others are read, and copied. */
  #placeAddress(bytes: Buffer, from: number, to: number): void {
    const { escapedBy, quotes } = this.#options;
    if (escapedBy === undefined) {
      const mayBeQuoted = from < to && quotes !== "text" && OPENS.has(bytes[from] as number);
      if (!mayBeQuoted) return void this.#setPlace(bytes, from, to);
      const isWhole = bytes[from] === QUOTE && bytes.indexOf(QUOTE, from + 1) === to - 1;
      if (isWhole) return void this.#setPlace(bytes, from + 1, to - 1);
    }
    const raw = bytes.toString("latin1", from, to);
    const isNull = raw === NULL_FIELD && escapedBy !== undefined;
    const value = isNull ? "" : fieldValue(raw, this.#options);
    this.#setPlace(Buffer.from(value, "latin1"), 0, value.length);
  }

  #setPlace(bytes: Buffer, from: number, to: number): void {
    this.#address.bytes = bytes;
    this.#address.from = from;
    this.#address.to = to;
  }

  #place(): RecordPlace {
    return { records: this.#records, start: this.#leftAt + this.#finder.from };
  }
}
