import type { Dialect } from "./dialect.ts";
import type { CsvProblem } from "./problems.ts";
import type { ValuePlace } from "./value-place.ts";

export interface ScanOptions extends Dialect {
  /** Counted from 0. */
  emailColumn: number;
  /** Maximum bytes of a record, its line end included. */
  recordBytes: number;
  /** Maximum fields of a record. */
  columns: number;
  /** Position in the source of the first byte that is pushed; default 0. */
  firstByte?: number;
  /** Name of the first record in details; default "row 1". */
  firstRow?: string;
  /** Unit of byte positions, added to their number (text-form.ts); default "". */
  bytesOf?: string;
  /** Judges each record with unusual quotes. */
  judge?: QuoteJudge;
}

/** Why the quotes of a record are not believed. */
export interface Suspicion {
  /** Position of the quote, from the record's first byte. */
  quoteAt: number;
  /** Completes the sentence "The quote at byte 5, in row 2, …". */
  why: string;
}

/** Judges records that have quotes and are not plainly right: suspicion.ts. */
export interface QuoteJudge {
  /** Records with this number of fields are right if each quoted field ends with its quote and has no line end. */
  width: number;
  /** @param record its bytes, line end included */
  judge(record: Buffer): Suspicion | undefined;
}

/**
 * Receives each record, in order: its first byte and the byte after its end, as positions in the source; its number of
 * fields; and the place of the address field's value, empty if the record is too short. The place is one object for all
 * records. Its bytes are those pushed last, or a copy.
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
  /** Position of the quote that is open at the end of the bytes so far; undefined: none is open. */
  openQuote(): number | undefined;
  /** Judges the part of the open quote's record that has been read. */
  judgeOpen(): CsvProblem | undefined;
}
