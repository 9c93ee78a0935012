import type { CellStyle } from "../analysis/layout.ts";
import { firstBytesOf, lengthAt } from "./dialect.ts";
import { NULL_FIELD } from "./field.ts";

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
  // What may be half of a character would take the delimiter for the other one.
  return /[\x80-\xff]$/.test(value) && firstBytesOf(style) !== undefined;
}

/**
 * A value that no spreadsheet takes for a formula (OWASP, CSV Injection): an apostrophe comes before one that begins like
 * a formula, also behind spaces, quotes or foreign delimiters. Plain numbers may have their sign.
 */
export function guardFormula(value: string): string {
  if (!FORMULA.test(value.replace(BEFORE_FORMULA, "")) || PLAIN_NUMBER.test(value)) return value;
  return `'${value}`;
}
