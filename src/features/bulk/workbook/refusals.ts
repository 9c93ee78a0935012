import { LIMITS } from "../../../config/limits/limits.ts";
import { CsvProblemError } from "../csv/problems.ts";

/** The workbook is damaged, or such that it cannot be read. */
export function workbookUnreadable(why: string): CsvProblemError {
  return new CsvProblemError({ code: "not_readable", detail: `The workbook cannot be read: ${why}.` });
}

/** The file is a ZIP archive and no workbook that is read. */
export function notAWorkbook(is: string, advice: string): CsvProblemError {
  return new CsvProblemError({ code: "not_csv", detail: `The file is ${is}, not a list. ${advice}` });
}

/** @param chars of a text that is put together of several */
export function checkText(chars: number): void {
  const { recordBytes } = LIMITS.bulk;
  if (chars <= recordBytes) return;
  const detail = `The workbook has a cell of more than ${recordBytes} bytes.`;
  throw new CsvProblemError({ code: "record_too_large", detail });
}

export function workbookTooLarge(what: string): CsvProblemError {
  return new CsvProblemError({ code: "bulk_too_large", detail: `The workbook is too large: ${what}.` });
}
