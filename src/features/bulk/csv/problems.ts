import type { JobErrorCode } from "../../../platform/job-errors.ts";
import type { JobProblem } from "../analysis/layout.ts";

export type CsvProblemCode = Extract<
  JobErrorCode,
  | "bulk_too_large"
  | "email_column_ambiguous"
  | "empty_source"
  | "no_email_column"
  | "not_csv"
  | "not_readable"
  | "quote_not_closed"
  | "record_too_large"
  | "suspicious_quote"
  | "too_many_columns"
>;

/** Why a list cannot be read: the detail is a sentence for the author of the list. */
export interface CsvProblem extends JobProblem {
  code: CsvProblemCode;
}

export function problem(code: CsvProblemCode, detail: string): { ok: false } & CsvProblem {
  return { ok: false, code, detail };
}

/** Error of a stream of text whose list turns out to be unreadable. */
export class CsvProblemError extends Error {
  readonly problem: CsvProblem;

  constructor(found: CsvProblem) {
    super(found.detail);
    this.problem = { code: found.code, detail: found.detail };
  }
}
