import type { JobErrorCode } from "../../core/job-errors.ts";

/**
 * How the records of a source are to be read. Records are bytes, read as latin1 strings: a character a byte, so that
 * values stay what they are in whatever encoding. Only addresses, and what goes into JSON, are decoded (csv/field.ts).
 */
export interface SourceLayout {
  /** One ASCII character. */
  delimiter: string;
  /** Counted from 0. */
  emailColumn: number;
  /** Of the widest record: shorter ones are padded in the results. */
  columns: number;
  /** Names of the columns, latin1; null: the source has none. */
  header: string[] | null;
  /** The source began with a byte order mark, and so do the results. */
  bom: boolean;
}

/** What a submission says of its source; what it does not say is found out. */
export interface SourceOptions {
  /** A name in the header, or an index from 0. */
  emailColumn?: string | number;
  hasHeader?: boolean;
  delimiter?: string;
  /** Of a workbook: the name of a sheet, or its index from 0. */
  sheet?: string | number;
}

/** How the cells of the results are written. */
export interface CellStyle {
  delimiter: string;
  /** Guards against cells that spreadsheets take for formulas. */
  escapeFormulas: boolean;
}

/** Why a job cannot be done: the code and the sentence of its error. */
export interface JobProblem {
  code: JobErrorCode;
  detail: string;
}
