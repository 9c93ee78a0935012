import { isUtf8 } from "node:buffer";
import type { SourceColumns, SourceLayout, SourceOptions, SourceWarning } from "../analysis/layout.ts";
import type { ScoredColumn } from "../columns/choose-column.ts";
import { candidateColumns, columnName } from "../columns/describe.ts";
import { hasColumnNamed, pickColumn } from "../columns/pick-column.ts";
import { findSuspicion, type Sample, type SampleText, takeSample } from "./delimiter.ts";
import { isDelimiter } from "./dialect.ts";
import { hasManyNuls, knownBinary } from "./encoding/binary.ts";
import { detectEncoding } from "./encoding/charset.ts";
import { toUtf8 } from "./field.ts";
import { findTableStart, isRule, LINES_ABOVE, type TableStart } from "./header-row.ts";
import { type CsvProblem, problem } from "./problems.ts";
import { readSample } from "./quoting.ts";
import { quoteHint } from "./scan-problems.ts";
import { linesAbove } from "./skipped-lines.ts";
import type { TableShape } from "./suspicion.ts";

/** A layout without the field that depends on the whole source. */
export type DetectedLayout = Omit<SourceLayout, "columns">;

export interface DetectOptions extends SourceOptions {
  /** The head is the whole text. */
  whole: boolean;
  /** Unit of byte positions, added to their number (text-form.ts); absent: "". */
  bytesOf?: string;
  /** Encoding that the text was decoded from; absent: the bytes are unchanged. */
  encoding?: string;
  /** For a workbook: the sheet that is read. */
  sheetRead?: SourceColumns["sheet"];
}

/** The layout of a head, and the reasons for it. */
export interface DetectedTable {
  ok: true;
  layout: DetectedLayout;
  /** Position of the first row in the text: after byte order mark, `sep=` line, titles and header. */
  firstByte: number;
  /** As its team sees it. */
  columns: SourceColumns;
  /** Columns that may be the one of the addresses, the likeliest first. */
  candidates: ScoredColumn[];
  warnings: SourceWarning[];
  /** Rows of the head, latin1. */
  rows: string[][];
  shape: TableShape;
}

export type Detection = DetectedTable | ({ ok: false } & CsvProblem);

/** A first line for spreadsheets: it names the delimiter and is not a record. */
const SEP_LINE = /^"?sep=([\t -~])"?(?:\r\n|\r|\n|$)/i;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Detects the layout of a list from its head (decode.ts: the first bytes of its text) and its owner's options. Other work
 * runs between readings of the head. Problems: `empty_source`, `not_csv`, `no_email_column`, `email_column_ambiguous`,
 * `too_many_columns`, `record_too_large`, `quote_not_closed`.
 */
export async function detectLayout(head: Buffer, options: DetectOptions): Promise<Detection> {
  // Text that was written here from a sheet is a table, and its quotes are right, whatever its cells hold.
  const isWritten = (options.sheetRead ?? null) !== null;
  const kind = isWritten ? undefined : knownBinary(head);
  if (kind !== undefined) return problem("not_csv", `The file is ${kind}, not CSV. ${adviceFor(kind)}`);
  if (hasManyNuls(head))
    return problem("not_csv", "The file holds binary data, not text: save the list as CSV.");
  const bom = head.subarray(0, BOM.length).equals(BOM);
  const start = bom ? BOM.length : 0;
  const sep = isWritten ? null : SEP_LINE.exec(head.toString("latin1", start, start + 16));
  const textStart = start + (sep?.[0].length ?? 0);
  const text: SampleText = {
    bytes: head.subarray(textStart),
    whole: options.whole,
    firstByte: textStart,
    firstRow: firstRowOf(options),
    bytesOf: options.bytesOf ?? "",
  };
  const delimiter = options.delimiter ?? (isDelimiter(sep?.[1] ?? "") ? sep?.[1] : undefined);
  const wanted = {
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(options.escape === undefined ? {} : { escape: options.escape }),
  };
  const charset = encodingOfSource(head, options, isWritten);
  const encoding = charset === undefined ? {} : { encoding: charset };
  const written = isWritten ? delimiter : undefined;
  const sample =
    written === undefined
      ? await readSample(text, wanted, encoding)
      : takeSample(text, { delimiter: written });
  if (sample.records.length === 0) return noRecord(sample, text);
  const readable = {
    ...sample,
    records: sample.records.map((record) => record.map((value) => toUtf8(value, charset))),
  };
  const table = belowRule(readable, tableStart(readable, options));
  const suspicion = isWritten ? undefined : sample.suspicion && suspicionOf(sample, text, table);
  if (suspicion !== undefined) return { ok: false, ...suspicion };
  const rawHeader = table.header === null ? null : (sample.records[table.header] ?? []);
  const found = detectColumns(head, readable, table, { ...options, ...encoding, bom });
  return found.ok ? { ...found, layout: { ...found.layout, header: rawHeader } } : found;
}

function detectColumns(
  head: Buffer,
  sample: Sample,
  { header: headerAt, firstRow }: TableStart,
  options: DetectOptions & { bom: boolean },
): Detection {
  const { dialect, records, starts, ends } = sample;
  const header = headerAt === null ? null : (records[headerAt] ?? []);
  const rows = records.slice(firstRow);
  if (header?.some((name) => name.includes("\0")))
    return problem("not_csv", "The header holds binary data, not text: save the list as CSV.");
  const first = header ?? rows[0] ?? [];
  const picked = pickColumn({ header, rows, whole: sample.complete }, first, options.emailColumn);
  if (!picked.ok) return picked;
  const { index, chosenBy, candidates } = picked;
  const columns: SourceColumns = {
    email: { index, name: columnName(header, index), chosen_by: chosenBy },
    others: candidateColumns(
      header,
      candidates.filter((one) => one.index !== index && one.addresses > 0),
    ),
    delimiter: dialect.delimiter,
    has_header: header !== null,
    encoding: options.encoding ?? encodingOf(head),
    escape: dialect.escapedBy ?? '"',
    skipped_lines: linesAbove(head, sample, { header: headerAt, firstRow }),
    sheet: options.sheetRead ?? null,
  };
  const layout = { ...dialect, emailColumn: index, header, bom: options.bom || columns.sheet !== null };
  const firstByte = (firstRow === 0 ? starts[0] : ends[firstRow - 1]) ?? 0;
  return { ok: true, layout, firstByte, columns, candidates, warnings: [], rows, shape: sample.shape };
}

/** Encoding of a source whose bytes are the text, from the options or detected; undefined: UTF-8 or windows-1252. */
function encodingOfSource(head: Buffer, options: DetectOptions, isWritten: boolean): string | undefined {
  if (isWritten || options.encoding !== undefined) return undefined;
  const { charset } = options;
  return charset === undefined ? detectEncoding(head) : charset === "utf-8" ? undefined : charset;
}

/** Encoding of a source whose bytes are the text. Values that are not UTF-8 are read as windows-1252 (field.ts). */
function encodingOf(head: Buffer): string {
  // The head may end within a character.
  const cut = [0, 1, 2, 3].some((bytes) => isUtf8(head.subarray(0, head.length - bytes)));
  return cut ? "utf-8" : "windows-1252";
}

function adviceFor(kind: string): string {
  if (/\.xlsx/.test(kind)) return "Upload the workbook itself: it is compressed already.";
  if (/JSON|XML/.test(kind)) return "Save the list as CSV, or as text with an address on each line.";
  return /gzip|bzip2|UTF-32|archive|Zstandard/.test(kind)
    ? "Upload the CSV file itself, or the CSV file compressed once with gzip."
    : "Open it in the program it comes from and save it as CSV, or as .xlsx without a password.";
}

/** The suspicion with the row's number as rows are counted: after the lines above the table. */
function suspicionOf(sample: Sample, text: SampleText, { firstRow }: TableStart): CsvProblem | undefined {
  const firstByte = sample.starts[firstRow];
  if (firstByte === undefined) return sample.suspicion;
  const bytes = text.bytes.subarray(firstByte - text.firstByte);
  const rows = { ...text, bytes, firstByte, firstRow: "row 1" };
  return findSuspicion(rows, sample.dialect, sample.shape) ?? sample.suspicion;
}

function noRecord({ problem: found, openQuote }: Sample, text: SampleText): Detection {
  if (found !== undefined) return { ok: false, ...found };
  if (text.whole) return problem("empty_source", "The file holds no rows.");
  const cause = openQuote === undefined ? "" : ` ${quoteHint(`byte ${openQuote}`)}`;
  const end = text.firstByte + text.bytes.length;
  return problem("record_too_large", `No row ends within the first ${end} bytes${text.bytesOf}.${cause}`);
}

/** Name of the first record in details, from the options alone. */
function firstRowOf({ hasHeader, emailColumn }: DetectOptions): string {
  if (hasHeader === false) return "row 1";
  return hasHeader === true || typeof emailColumn === "string" ? "the header" : "the header or first row";
}

/** A rule under the header is not a row. */
function belowRule({ records }: Sample, { header, firstRow }: TableStart): TableStart {
  const hasRule = header !== null && isRule(records[firstRow] ?? []);
  return { header, firstRow: hasRule ? firstRow + 1 : firstRow };
}

/** Finds the start of the table: from the options, or from the records. */
function tableStart({ records }: Sample, { hasHeader, emailColumn }: DetectOptions): TableStart {
  if (hasHeader === false) return { header: null, firstRow: 0 };
  if (typeof emailColumn === "string") {
    const named = records.slice(0, LINES_ABOVE).findIndex((record) => hasColumnNamed(record, emailColumn));
    const at = named >= 0 ? named : (findTableStart(records, undefined).header ?? 0);
    return { header: at, firstRow: at + 1 };
  }
  const found = findTableStart(records, emailColumn);
  return hasHeader === true && found.header === null
    ? { header: found.firstRow, firstRow: found.firstRow + 1 }
    : found;
}
