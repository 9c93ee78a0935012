import type { JobErrorCode } from "../../../platform/job-errors.ts";
import type { Dialect } from "../csv/dialect.ts";

/**
 * How to read the records of a source. Records are bytes, read as latin1 strings: a character a byte, so that values are
 * unchanged in any encoding. Only addresses and JSON output are decoded (csv/field.ts).
 */
export interface SourceLayout extends Dialect {
  /** Counted from 0. */
  emailColumn: number;
  /** Columns of the widest record. Shorter ones are padded in the results. */
  columns: number;
  /** Names of the columns, latin1; null: the source has none. */
  header: string[] | null;
  /**
   * CSV results begin with a byte order mark: the source did, or was a workbook, or they are meant for a spreadsheet
   * (`escape_formulas`). Without one Excel takes UTF-8 for windows-1252.
   */
  bom: boolean;
  /**
   * Set when cells were split: each record then has two fields of ours (split/splitter.ts) before those of the list, and
   * the outer `emailColumn` counts them. All other column numbers, and this one, are those of the list.
   */
  split?: { emailColumn: number };
}

/** The submitter's options for a source; absent ones are detected. */
export interface SourceOptions {
  /** A name in the header, or an index from 0. */
  emailColumn?: string | number;
  hasHeader?: boolean;
  delimiter?: string;
  /** For a workbook: the name of a sheet, or its index from 0. */
  sheet?: string | number;
  escape?: Escape;
  /** One of ENCODINGS (csv/encoding/charset.ts). */
  charset?: string;
}

/** A column that may be the one of the addresses. */
export interface CandidateColumn {
  /** Index of the column, from 0. */
  index: number;
  /** null: the source has no header. */
  name: string | null;
  /** Cells of the first rows that hold an address, and how many different ones. */
  addresses: number;
  distinct: number;
}

/** A line of a source that is not a row of its table. */
export interface SkippedLine {
  /** Line number, from 1. */
  line: number;
  /** The beginning of it. */
  text: string;
  reason: "comment" | "title" | "rule" | "footer";
}

/** An irregularity that was tolerated in a source, or a matter that its owner should check. */
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
  /** How a quote within quotes is escaped: by a quote, or by a backslash. */
  escape: '"' | "\\";
  skipped_lines: SkippedLine[];
  /** For a workbook: the sheet that was read, its index from 0 and the names of the others; null for any other list. */
  sheet: { index: number; name: string; others: string[] } | null;
}

/** How a quote within quotes is written: doubled, or behind a backslash. */
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
  /** For `email_column_ambiguous`: the columns to choose from. */
  candidates?: CandidateColumn[];
}
