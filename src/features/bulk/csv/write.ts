import type { CellStyle } from "../analysis/layout.ts";
import { firstBytesOf, lengthAt } from "./dialect.ts";
import { NULL_FIELD } from "./field.ts";

export interface RecordStyle extends CellStyle {
  /** Minimum fields of a record; missing ones are written empty. */
  columns: number;
}

/** Characters with which spreadsheets begin a formula. The last four are the full-width forms of = + - @ in UTF-8. */
const FORMULA = /^(?:[=+\-@\t\r\n]|\xef\xbc[\x9d\x8b\x8d\xa0])/;

/** Characters that some readers drop before a formula: spaces, quotes, delimiters of other lists. */
const BEFORE_FORMULA = /^[ ",;|]+/;

const PLAIN_NUMBER = /^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A record of values (latin1) without its line end. Reading it by the rules of record-finder.ts gives the same values. RFC 4180
 * quotes enclose values with a delimiter, a quote or a line end. They also enclose values with a space at either end, which
 * other readers would drop. Formulas are guarded only if the style says so: the guard changes values.
 */
export function writeRecord(values: readonly string[], style: RecordStyle): string {
  const { delimiter, columns, escapeFormulas } = style;
  if (values.length <= 1 && columns <= 1 && (values[0] ?? "") === "") return '""';
  let record = "";
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as string;
    if (i > 0) record += delimiter;
    record += writeValue(escapeFormulas ? guardFormula(value) : value, style);
  }
  return record + delimiter.repeat(Math.max(0, columns - Math.max(1, values.length)));
}

/** One field of a record. An empty record is more than an empty field: writeRecord. */
export function writeValue(value: string, style: CellStyle): string {
  const { escapedBy, quotes } = style;
  if (escapedBy !== undefined) return value === NULL_FIELD ? value : writeEscaped(value, style);
  if (quotes === "text") throw new Error("quotes cannot be text where they are written");
  return isQuoted(value, style) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** A backslash before what would mean something; in quotes, where there are any, also for readers that split lines first. */
function writeEscaped(value: string, style: CellStyle): string {
  const { delimiter, escapedBy = "", quotes } = style;
  const firstBytes = firstBytesOf(style);
  const canQuote = quotes !== "text";
  let text = "";
  for (let at = 0; at < value.length; ) {
    // A backslash of the value is one character of it.
    const length = value[at] === escapedBy ? 1 : lengthAt(value, at, style, firstBytes);
    const piece = value.slice(at, at + length);
    at += length;
    const isSpecial =
      piece === escapedBy || piece === '"' || (!canQuote && (piece === delimiter || /^[\r\n]$/.test(piece)));
    // Half a character would take a backslash for its other half.
    const isHalf = firstBytes?.[text.charCodeAt(text.length - 1)] === 1;
    text += isSpecial ? (isHalf && piece === '"' ? piece : escapedBy) + piece : piece;
  }
  return canQuote && (text !== value || isQuoted(value, style)) ? `"${text}"` : text;
}

function isQuoted(value: string, style: CellStyle): boolean {
  if (/["\r\n]|^ | $/.test(value) || value.includes(style.delimiter)) return true;
  // A byte that may be half of a character would combine with the delimiter.
  return /[\x80-\xff]$/.test(value) && firstBytesOf(style) !== undefined;
}

/**
 * Guards against formulas (OWASP, CSV Injection): an apostrophe is added before a value that begins like a formula, also
 * behind spaces, quotes or foreign delimiters. Plain numbers may have a sign.
 */
export function guardFormula(value: string): string {
  if (!FORMULA.test(value.replace(BEFORE_FORMULA, "")) || PLAIN_NUMBER.test(value)) return value;
  return `'${value}`;
}
