import type { CellStyle } from "../layout.ts";

export interface RecordStyle extends CellStyle {
  /** A record has at least so many fields; those it lacks are written empty. */
  columns: number;
}

/** What spreadsheets begin a formula with; the last four are the full-width forms of = + - @ in UTF-8. */
const FORMULA = /^(?:[=+\-@\t\r\n]|\xef\xbc[\x9d\x8b\x8d\xa0])/;

/** What some readers drop before they look for a formula: spaces, quotes, delimiters that are not this list's. */
const BEFORE_FORMULA = /^[ ",;|]+/;

const PLAIN_NUMBER = /^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A record of values (latin1) without its end, such that reading it by the rules of scan.ts gives the same values:
 * RFC 4180 quotes round what holds a delimiter, a quote or the end of a line, and round values with a space at an end,
 * which other readers would drop. Formulas are guarded only where the style says so: the guard changes values.
 */
export function writeRecord(values: readonly string[], style: RecordStyle): string {
  const { delimiter, columns, escapeFormulas } = style;
  if (values.length <= 1 && columns <= 1 && (values[0] ?? "") === "") return '""';
  let record = "";
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as string;
    if (i > 0) record += delimiter;
    record += writeValue(escapeFormulas ? guardFormula(value) : value, delimiter);
  }
  return record + delimiter.repeat(Math.max(0, columns - Math.max(1, values.length)));
}

/** One field of a record. An empty record is more than an empty field: writeRecord. */
export function writeValue(value: string, delimiter: string): string {
  const quoted = /["\r\n]|^ | $/.test(value) || value.includes(delimiter);
  return quoted ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * A value that no spreadsheet takes for a formula (OWASP, CSV Injection): an apostrophe comes before one that begins like
 * a formula, also behind spaces, quotes or foreign delimiters. Plain numbers may have their sign.
 */
export function guardFormula(value: string): string {
  if (!FORMULA.test(value.replace(BEFORE_FORMULA, "")) || PLAIN_NUMBER.test(value)) return value;
  return `'${value}`;
}
