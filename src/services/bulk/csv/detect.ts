import type { SourceLayout, SourceOptions } from "../layout.ts";
import { findAddressColumn, looksLikeAddress, namesAddresses, normaliseName } from "./address-column.ts";
import { hasManyNuls, knownBinary } from "./binary.ts";
import { detectDelimiter, type Sample, type SampleText, takeSample } from "./delimiter.ts";
import { isDelimiter, toText } from "./field.ts";
import { type CsvProblem, problem } from "./problems.ts";
import { quoteHint } from "./scan.ts";

/** All of a layout but what only the whole source can tell. */
export type DetectedLayout = Omit<SourceLayout, "columns">;

export interface DetectOptions extends SourceOptions {
  /** The head is the whole text. */
  whole: boolean;
  /** What its bytes are counted of, behind their number (text-form.ts); "" unless told. */
  bytesOf?: string;
}

export type Detection =
  | {
      ok: true;
      layout: DetectedLayout;
      /** Where in the text the first row begins: after byte order mark, `sep=` line and header. */
      firstByte: number;
    }
  | ({ ok: false } & CsvProblem);

/** Names of columns in a detail: so many, and so much of each. */
const NAMES_SHOWN = 20;
const NAME_CHARS = 40;

/** A first line that spreadsheets write for one another: it names the delimiter and is no record. */
const SEP_LINE = /^"?sep=([\t -~])"?(?:\r\n|\r|\n|$)/i;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * How a list is to be read, from its head (decode.ts: the first bytes of its text) and from what its owner says of it.
 * Problems: `empty_source`, `not_csv`, `no_email_column`, `too_many_columns`, `record_too_large`, `quote_not_closed`.
 */
export function detectLayout(head: Buffer, options: DetectOptions): Detection {
  const kind = knownBinary(head);
  if (kind !== undefined) return problem("not_csv", `The file is ${kind}, not CSV. ${adviceFor(kind)}`);
  if (hasManyNuls(head))
    return problem("not_csv", "The file holds binary data, not text: save the list as CSV.");
  const bom = head.subarray(0, BOM.length).equals(BOM);
  const start = bom ? BOM.length : 0;
  const sep = SEP_LINE.exec(head.toString("latin1", start, start + 16));
  const textStart = start + (sep?.[0].length ?? 0);
  const text: SampleText = {
    bytes: head.subarray(textStart),
    whole: options.whole,
    firstByte: textStart,
    firstRow: firstRowOf(options),
    bytesOf: options.bytesOf ?? "",
  };
  const delimiter = options.delimiter ?? (isDelimiter(sep?.[1] ?? "") ? sep?.[1] : undefined);
  const sample = delimiter === undefined ? detectDelimiter(text) : takeSample(text, delimiter);
  const first = sample.records[0];
  if (first === undefined) return noRecord(sample, text);
  const header = headerOf(sample, options) ? first : null;
  const rows = header === null ? sample.records : sample.records.slice(1);
  if (header?.some((name) => name.includes("\0"))) {
    return problem("not_csv", "The header holds binary data, not text: save the list as CSV.");
  }
  const column = addressColumn(header, rows, options.emailColumn);
  if (typeof column === "string") {
    return problem("no_email_column", `${column} ${columnsSeen(first, header !== null)}`);
  }
  const layout = { delimiter: sample.delimiter, emailColumn: column, header, bom };
  return { ok: true, layout, firstByte: header === null ? textStart : sample.afterFirst };
}

function adviceFor(kind: string): string {
  if (/\.xlsx/.test(kind)) return "Upload the workbook itself: it is compressed already.";
  if (/JSON|XML/.test(kind)) return "Save the list as CSV, or as text with an address on each line.";
  return /gzip|bzip2|UTF-32|archive|Zstandard/.test(kind)
    ? "Upload the CSV file itself, or the CSV file compressed once with gzip."
    : "Open it in the program it comes from and save it as CSV, or as .xlsx without a password.";
}

function noRecord({ problem: found, openQuote }: Sample, text: SampleText): Detection {
  if (found !== undefined) return { ok: false, ...found };
  if (text.whole) return problem("empty_source", "The file holds no rows.");
  const cause = openQuote === undefined ? "" : ` ${quoteHint(`byte ${openQuote}`)}`;
  const end = text.firstByte + text.bytes.length;
  return problem("record_too_large", `No row ends within the first ${end} bytes${text.bytesOf}.${cause}`);
}

/** What the first record is called before anything is known of it but what the owner says. */
function firstRowOf({ hasHeader, emailColumn }: DetectOptions): string {
  if (hasHeader === false) return "row 1";
  return hasHeader === true || typeof emailColumn === "string" ? "the header" : "the header or first row";
}

/** The first record names the columns: as the owner says, or since it holds names and no address. */
function headerOf({ records }: Sample, { hasHeader, emailColumn }: DetectOptions): boolean {
  if (hasHeader !== undefined) return hasHeader;
  if (typeof emailColumn === "string") return true;
  const [first = [], ...rows] = records;
  if (first.some(looksLikeAddress)) return false;
  if (first.some(namesAddresses)) return true;
  const column = typeof emailColumn === "number" ? emailColumn : findAddressColumn(null, rows);
  const name = first[column ?? 0] ?? "";
  return column !== undefined && isLabel(name) && rows.some((row) => looksLikeAddress(row[column] ?? ""));
}

/** Could name a column: has a letter, and is no broken address. */
function isLabel(value: string): boolean {
  return /[A-Za-z\x80-\xff]/.test(value) && !value.includes("@");
}

/** Its index, or the sentence that says why there is none. */
function addressColumn(
  header: readonly string[] | null,
  rows: readonly string[][],
  wanted: string | number | undefined,
): number | string {
  if (typeof wanted === "string") return namedColumn(header, wanted);
  if (wanted === undefined) return findAddressColumn(header, rows) ?? "No column holds email addresses.";
  const width = rows.reduce((most, { length }) => Math.max(most, length), header?.length ?? 0);
  if (Number.isInteger(wanted) && wanted >= 0 && wanted < width) return wanted;
  return `Column ${wanted}, counted from 0, is not there: the first rows have ${width} columns.`;
}

function namedColumn(header: readonly string[] | null, wanted: string): number | string {
  if (header === null) return `In a file without a header no column is named ${shown(wanted)}.`;
  const names = header.map(toText);
  const exact = names.indexOf(wanted);
  if (exact >= 0) return exact;
  const sought = normaliseName(wanted);
  const loose = sought === "" ? -1 : names.findIndex((name) => normaliseName(name) === sought);
  return loose >= 0 ? loose : `No column is named ${shown(wanted)}.`;
}

function columnsSeen(first: readonly string[], isHeader: boolean): string {
  const cells = first.slice(0, NAMES_SHOWN).map((cell) => shown(toText(cell)));
  const more = first.length > NAMES_SHOWN ? ` and ${first.length - NAMES_SHOWN} more` : "";
  return `The file's ${isHeader ? "columns are" : "first row is"} ${cells.join(", ")}${more}.`;
}

/** A column's name for a detail. */
export function shown(name: string): string {
  const characters = [...name.replace(/\p{C}/gu, " ")];
  const cut =
    characters.length > NAME_CHARS ? `${characters.slice(0, NAME_CHARS).join("")}…` : characters.join("");
  return `"${cut}"`;
}
