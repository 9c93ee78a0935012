import { LIMITS } from "../../../config/limits/limits.ts";
import { addressWeight } from "../columns/column-evidence.ts";
import { type Dialect, endOfField, QUOTE, quotedPart } from "./dialect.ts";
import { fieldsOf } from "./field.ts";
import { findLines, lineAt } from "./lines.ts";
import { HAS_QUOTE } from "./record-finder.ts";
import type { QuoteJudge, Suspicion } from "./scan-types.ts";

/** The usual shape of a list's rows, from its sample. */
export interface TableShape {
  /** Fields of most rows. */
  width: number;
  /** Indexes of columns with addresses. */
  addressColumns: readonly number[];
  /** Fields commonly begin with a space, as words behind a comma do. */
  isSpaced: boolean;
}

/**
 * Minimum share of a field's lines that must look like rows before a quote counts as missing. With fewer, the field really
 * has many lines.
 */
const ROWS_SHARE = 0.8;
/** Minimum delimiters of a line without an address to count as a row: prose has a few by chance. */
const DELIMITERS_MIN = 9;
/** Minimum number of lines, of any width, that must have an address in a field of its own. */
const RAGGED_LINES = 3;
const RAGGED_SHARE = 0.5;
/** A list of one column: a cell of more addresses than these was never one cell. */
const ADDRESSES_IN_CELL = 10;
/** No note has as many lines. */
const FIELD_LINES_MAX = 1_000;

const NO_END =
  "closes before the end of its field: a quote is missing or stray, or quotes are escaped otherwise.";
const HOLDS_ROWS = "opens a field that holds what look like rows of the list: a quote is missing or stray.";
const TOO_LONG = `opens a field of more than ${FIELD_LINES_MAX} lines: the quote that should close it is missing.`;
const SHIFTS = "makes one field of what are several elsewhere: a quote is missing or stray.";

interface QuotedField {
  open: number;
  value: string;
  isClosed: boolean;
  /** Behind the closing quote. */
  rest: string;
}

export function quoteJudge(dialect: Dialect, shape: TableShape): QuoteJudge {
  return {
    width: shape.width,
    judge: (record) => judgeQuotes(record.toString("latin1"), dialect, shape),
  };
}

/**
 * Judges whether the quotes of a record are plausible. A stray or unclosed quote makes one field of everything up to the
 * next quote, rows included. That quote is seldom followed by the end of a field. If it is, the field's lines, read without
 * quotes, are rows of the table. Lines of a postal address or a note are not, even if they mention an email address.
 */
export function judgeQuotes(text: string, dialect: Dialect, shape: TableShape): Suspicion | undefined {
  const record = text.replace(/(?:\r\n|\r|\n)$/, "");
  const quoted = quotedFieldsOf(record, dialect);
  const broken = quoted.find((field) => isBroken(field, record, dialect, shape));
  if (broken !== undefined) return { quoteAt: broken.open, why: NO_END };
  const longest = quoted.find(({ value }) => /[\r\n]/.test(value)) ?? { open: 0 };
  const lines = record.split(/\r\n|\r|\n/).filter((line) => line.trim() !== "");
  if (lines.length > FIELD_LINES_MAX) return { quoteAt: longest.open, why: TOO_LONG };
  if (lines.length > 1)
    return areRows(lines, dialect, shape) ? { quoteAt: longest.open, why: HOLDS_ROWS } : undefined;
  const [first] = quoted;
  if (first === undefined || !quoted.every(({ isClosed }) => isClosed)) return undefined;
  if (!isShifted(record, dialect, shape)) return undefined;
  return { quoteAt: first.open, why: SHIFTS };
}

function quotedFieldsOf(record: string, dialect: Dialect): QuotedField[] {
  const fields: QuotedField[] = [];
  for (let from = 0; from <= record.length; ) {
    const end = endOfField(record, from, dialect);
    const part = quotedPart(record, from, dialect);
    if (part !== undefined) {
      const { open, close } = part;
      const rest = record.slice(close + 1, end);
      fields.push({ open, value: record.slice(open + 1, close), isClosed: close < record.length, rest });
    }
    from = end + 1;
  }
  return fields;
}

/** Text follows the closing quote, though the quotes held more than a field of one line: no program writes that. */
function isBroken(
  { value, rest }: QuotedField,
  record: string,
  dialect: Dialect,
  shape: TableShape,
): boolean {
  if (/^ *$/.test(rest) || rest.startsWith("\0")) return false;
  if (/[\r\n]/.test(value)) return true;
  return value.includes(dialect.delimiter) && fieldsOf(record, dialect).length !== shape.width;
}

function areRows(lines: readonly string[], { delimiter }: Dialect, shape: TableShape): boolean {
  const rows = lines.map((line) => line.split(delimiter));
  if (shape.width === 1)
    return (
      lines.length > ADDRESSES_IN_CELL &&
      countOf(rows, ([cell = ""]) => isAddress(cell)) >= ROWS_SHARE * lines.length
    );
  const wide = rows.filter((row) => row.length === shape.width && !isProse(row, shape));
  const withAddress = countOf(wide, (row) =>
    shape.addressColumns.some((column) => isAddress(row[column] ?? "")),
  );
  if (wide.length >= ROWS_SHARE * rows.length) {
    if (withAddress > 1 || (shape.width - 1) * rows.length >= DELIMITERS_MIN) return true;
  }
  const ragged = countOf(rows, (row) => row.length > 1 && !isProse(row, shape) && row.some(isAddress));
  return ragged >= RAGGED_LINES && ragged >= RAGGED_SHARE * rows.length;
}

/** True for a record of one line that does not fit the table, but would if its quotes were text. */
function isShifted(record: string, dialect: Dialect, shape: TableShape): boolean {
  const { width, addressColumns } = shape;
  const cells = record.split(dialect.delimiter);
  const fields = fieldsOf(record, dialect);
  if (width === 1 || cells.length !== width || fields.length === width) return false;
  return addressColumns.some((column) => isAddress(cells[column] ?? "") && !isAddress(fields[column] ?? ""));
}

/** True for a text with commas: a space follows each comma. */
function isProse(row: readonly string[], { isSpaced }: TableShape): boolean {
  return !isSpaced && row.some((cell, i) => i > 0 && cell.startsWith(" "));
}

/** True for a cell of one address; a literal quote may be beside it. */
function isAddress(cell: string): boolean {
  return addressWeight(cell.replace(/^"|"$/g, "")) > 0;
}

function countOf<T>(items: readonly T[], isCounted: (item: T) => boolean): number {
  return items.reduce((count, item) => (isCounted(item) ? count + 1 : count), 0);
}

/** Number of quoted fields, in whole records, with text after their closing quote. */
export function countRests(bytes: Buffer, dialect: Dialect): number {
  if (!bytes.includes(QUOTE)) return 0;
  const lines = findLines(bytes, { ...dialect, emailColumn: -1 }, LIMITS.bulk.sampleRows);
  let count = 0;
  for (let i = 0; i < lines.count; i += 1) {
    if (((lines.marks[i] as number) & HAS_QUOTE) === 0) continue;
    count += countOf(quotedFieldsOf(lineAt(lines, i), dialect), ({ rest }) => !/^ *$/.test(rest));
  }
  return count;
}
