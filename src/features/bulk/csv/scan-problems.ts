import type { CsvProblem } from "./problems.ts";
import type { ScanOptions, Suspicion } from "./scan-types.ts";

/** The record that a scanner is in. */
export interface RecordPlace {
  /** Those before it. */
  records: number;
  /** First byte of the record in the source. */
  start: number;
}

type Naming = Pick<ScanOptions, "firstRow" | "bytesOf">;

export function quoteNotClosed(place: RecordPlace, quoteAt: number, naming: Naming): CsvProblem {
  const detail = `The quote at ${byteAt(quoteAt, naming)}, in ${rowOf(place, naming)}, is never closed.`;
  return { code: "quote_not_closed", detail };
}

export function suspiciousQuote(place: RecordPlace, { quoteAt, why }: Suspicion, naming: Naming): CsvProblem {
  const at = byteAt(place.start + quoteAt, naming);
  return { code: "suspicious_quote", detail: `The quote at ${at}, in ${rowOf(place, naming)}, ${why}` };
}

export function tooManyColumns(place: RecordPlace, { columns, ...naming }: ScanOptions): CsvProblem {
  return {
    code: "too_many_columns",
    detail: `${beginning(place, naming)} has more than ${columns} columns.`,
  };
}

/** @param openQuote within which the bound is; undefined: it is outside quotes */
export function recordTooLarge(
  place: RecordPlace,
  openQuote: number | undefined,
  { recordBytes, ...naming }: ScanOptions,
): CsvProblem {
  const cause = openQuote === undefined ? "" : ` ${quoteHint(byteAt(openQuote, naming))}`;
  const detail = `${beginning(place, naming)} is longer than ${recordBytes} bytes.${cause}`;
  return { code: "record_too_large", detail };
}

/** `where`: the byte of a quote that is open where it should not be any more. */
export function quoteHint(where: string): string {
  return `The quote at ${where} is still open there: one that is not closed makes one row of all that follows.`;
}

function rowOf({ records }: RecordPlace, { firstRow }: Naming): string {
  return records === 0 && firstRow !== undefined ? firstRow : `row ${records + 1}`;
}

function beginning(place: RecordPlace, naming: Naming): string {
  const row = rowOf(place, naming);
  return `${row[0]?.toUpperCase()}${row.slice(1)}, which begins at ${byteAt(place.start, naming)},`;
}

function byteAt(position: number, { bytesOf }: Naming): string {
  return `byte ${position}${bytesOf ?? ""}`;
}
