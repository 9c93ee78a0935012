import { CsvProblemError } from "../csv/problems.ts";

/** The workbook is damaged, or such that it cannot be read. */
export function unreadable(why: string): CsvProblemError {
  return new CsvProblemError({ code: "not_readable", detail: `The workbook cannot be read: ${why}.` });
}

/** The file is a ZIP archive and no workbook that is read. */
export function notAWorkbook(is: string, advice: string): CsvProblemError {
  return new CsvProblemError({ code: "not_csv", detail: `The file is ${is}, not a list. ${advice}` });
}

export function tooLarge(what: string): CsvProblemError {
  return new CsvProblemError({ code: "bulk_too_large", detail: `The workbook is too large: ${what}.` });
}
