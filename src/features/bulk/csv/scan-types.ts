import type { Dialect } from "./dialect.ts";
import type { CsvProblem } from "./problems.ts";
import type { ValuePlace } from "./value-place.ts";

export interface ScanOptions extends Dialect {
  /** Counted from 0. */
  emailColumn: number;
  /** Of the longest record, its end included. */
  recordBytes: number;
  /** Of the widest record. */
  columns: number;
  /** Where in the source the first byte that is pushed stands; 0 when absent. */
  firstByte?: number;
  /** What details call the first record, in a sentence; "row 1" when absent. */
  firstRow?: string;
  /** What the bytes are counted of, behind their number (text-form.ts); "" when absent. */
  bytesOf?: string;
  /** Looks at each record whose quotes may not be what they seem. */
  judge?: QuoteJudge;
}

/** Why the quotes of a record are not believed. */
export interface Suspicion {
  /** Of the quote, counted from the record's first byte. */
  quoteAt: number;
  /** What goes on the sentence "The quote at byte 5, in row 2, …". */
  why: string;
}

/** Judges records that have quotes and are not plainly right: suspicion.ts. */
export interface QuoteJudge {
  /** Records of so many fields are right, if their quoted fields end with their quotes and hold no line end. */
  width: number;
  /** @param record its bytes, line end included */
  judge(record: Buffer): Suspicion | undefined;
}

/**
 * Receives each record, in order: from its first byte to after its end, in bytes of the source; how many fields it has; and
 * where the value of the address field stands, which is empty when the record is too short to have one. That is one object
 * for all records; the bytes are those that were pushed last, or a copy.
 */
export type RecordSink = (start: number, end: number, columns: number, address: ValuePlace) => void;

export interface RecordScanner {
  /**
   * Takes the next bytes, however the source is cut. After a problem nothing more is read, and the same problem is returned
   * again.
   */
  push(bytes: Buffer): CsvProblem | undefined;
  /** No more bytes follow: the last record may have no end. */
  end(): CsvProblem | undefined;
  /** Where the quote stands within which the bytes have come to their end so far; undefined: none is open. */
  openQuote(): number | undefined;
  /** Judges what there is of the record in which it stands. */
  judgeOpen(): CsvProblem | undefined;
}
