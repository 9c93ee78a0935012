import type { JobErrorCode } from "../../../platform/job-errors.ts";
import type { Dialect } from "../csv/dialect.ts";

/**
 * How the records of a source are to be read. Records are bytes, read as latin1 strings: a character a byte, so that
 * values stay what they are in whatever encoding. Only addresses, and what goes into JSON, are decoded (csv/field.ts).
 */
export interface SourceLayout extends Dialect {
  /** Counted from 0. */
  emailColumn: number;
  /** Of the widest record: shorter ones are padded in the results. */
  columns: number;
  /** Names of the columns, latin1; null: the source has none. */
  header: string[] | null;
  /** The source began with a byte order mark, and so do the results. */
  bom: boolean;
  /**
   * The records have two fields of ours (split/splitter.ts) before those of the list, and `emailColumn` counts from these. What
   * is said of columns besides is of the list, and so is this one. Absent: they are as the list has them.
   */
  split?: { emailColumn: number };
}

/** What a submission says of its source; what it does not say is found out. */
export interface SourceOptions {
  /** A name in the header, or an index from 0. */
  emailColumn?: string | number;
  hasHeader?: boolean;
  delimiter?: string;
  /** Of a workbook: the name of a sheet, or its index from 0. */
  sheet?: string | number;
  escape?: Escape;
  /** Of ENCODINGS (csv/encoding/charset.ts). */
  charset?: string;
}

/** A column that may be the one of the addresses. */
export interface CandidateColumn {
  /** From 0. */
  index: number;
  /** null: the source has no header. */
  name: string | null;
  /** Cells of the first rows that hold an address, and how many different ones. */
  addresses: number;
  distinct: number;
}

/** A line of a source that is no row of its table. */
export interface SkippedLine {
  /** From 1. */
  line: number;
  /** The beginning of it. */
  text: string;
  reason: "comment" | "title" | "rule" | "footer";
}

/** What the source is read as although it is not clean, or what its owner should look at. */
export interface SourceWarning {
  code: string;
  /** A sentence. */
  detail: string;
}

/** How a source was read, as its team sees it (`source.columns` of a job). */
export interface SourceColumns {
  email: { index: number; name: string | null; chosen_by: "option" | "header" | "content" | "only" };
  /** Further columns that hold addresses. */
  others: CandidateColumn[];
  delimiter: string;
  has_header: boolean;
  encoding: string;
  /** What makes a quote in a quoted field part of it: a quote before it, or a backslash. */
  escape: '"' | "\\";
  skipped_lines: SkippedLine[];
  /** Of a workbook: the sheet that was read, its index from 0 and the names of the others; null of any other list. */
  sheet: { index: number; name: string; others: string[] } | null;
}

/** How a quote stands within quotes: doubled, or behind a backslash. */
export type Escape = '"' | "\\";

/** How the cells of the results are written. */
export interface CellStyle extends Dialect {
  /** Guards against cells that spreadsheets take for formulas. */
  escapeFormulas: boolean;
}

/** Why a job cannot be done: the code and the sentence of its error. */
export interface JobProblem {
  code: JobErrorCode;
  detail: string;
  /** Of `email_column_ambiguous`: the columns to choose from. */
  candidates?: CandidateColumn[];
}
