import type { JobMaterial } from "../../store/job-results.ts";
import { toText } from "./csv/field.ts";
import { lineAt } from "./csv/lines.ts";
import { fieldsOf } from "./csv/plain.ts";
import { writeRecord } from "./csv/write.ts";
import { DrawnResult } from "./drawn-shard.ts";
import type { JoinedRow } from "./join.ts";
import { createFieldWriter, createRecordCopier } from "./record-bytes.ts";
import { EVIDENCE_COLUMNS, RESULT_COLUMNS } from "./result-cells.ts";
import { ownRoom, type Room, type RowBytes } from "./row-bytes.ts";

export const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

export const CONTENT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

/** How the results of a job are written in a format. */
export interface RowsFormat {
  /** What comes before the first row. */
  readonly start: Buffer;
  rows(rows: readonly JoinedRow[]): Buffer;
}

/** Of rows, a row, about: a buffer that is too small grows. */
const ROW_BYTES = 1_536;

/** Writes each row: what comes before its result, the part of its result, and an end. */
function weave(
  room: Room,
  rows: readonly JoinedRow[],
  write: (to: RowBytes, row: JoinedRow) => void,
): Buffer {
  const to = room(rows.length * ROW_BYTES);
  for (const row of rows) write(to, row);
  return to.take();
}

const BOM = "\xef\xbb\xbf";

const CSV_END = Buffer.from("\r\n");

/**
 * The columns of the source, as it names them, then ours. A source without a header gets one, `column_1` and so on, since
 * our columns need their names.
 */
function csvFormat({ layout, escapeFormulas, withEvidence }: JobMaterial, room: Room): RowsFormat {
  const { delimiter, columns, header, bom } = layout;
  const style = { delimiter, columns, escapeFormulas };
  const names = header ?? Array.from({ length: columns }, (_, i) => `column_${i + 1}`);
  const padded = [...names, ...Array<string>(Math.max(0, columns - names.length)).fill("")];
  const all = [...padded, ...RESULT_COLUMNS, ...(withEvidence ? EVIDENCE_COLUMNS : [])];
  const start = `${bom ? BOM : ""}${writeRecord(all, { ...style, columns: all.length })}\r\n`;
  const copy = createRecordCopier(style);
  const write = (to: RowBytes, { lines, offset, result }: JoinedRow) => {
    if (!copy(to, lines, offset)) to.text(writeRecord(fieldsOf(lineAt(lines, offset), delimiter), style));
    if (result instanceof DrawnResult) result.writeCells(to);
    else to.part(result.bytes, result.csvAt, result.jsonAt);
    to.all(CSV_END);
  };
  return { start: Buffer.from(start, "latin1"), rows: (rows) => weave(room, rows, write) };
}

/** JSON as its bytes of UTF-8, a character a byte. */
function jsonBytes(value: unknown): string {
  const json = JSON.stringify(value);
  return /[^\0-\x7f]/.test(json) ? Buffer.from(json).toString("latin1") : json;
}

const ROW = Buffer.from('{"row":');
const INPUT = Buffer.from(',"input":');
const DUPLICATE = Buffer.from(',"duplicate_of":');
const NO_DUPLICATE = Buffer.from(',"duplicate_of":null,');
const COMMA = Buffer.from(",");
const JSONL_END = Buffer.from("\n");

function writeDuplicate(to: RowBytes, duplicateOf: number | null): void {
  if (duplicateOf === null) to.all(NO_DUPLICATE);
  else {
    to.all(DUPLICATE);
    to.number(duplicateOf + 1);
    to.all(COMMA);
  }
}

function jsonlFormat({ layout, hasColumns }: JobMaterial, room: Room): RowsFormat {
  const { emailColumn, delimiter } = layout;
  const fields = createFieldWriter(delimiter);

  /** The record's address and, where there are any, its columns. */
  function writeValues(to: RowBytes, { lines, offset, duplicateOf }: JoinedRow): void {
    if (fields.areSelf(lines, offset)) {
      fields.writeAddress(to, lines, offset);
      writeDuplicate(to, duplicateOf);
      if (hasColumns) fields.writeAll(to, lines, offset);
      return;
    }
    const record = fieldsOf(lineAt(lines, offset), delimiter);
    const columns = hasColumns ? `"columns":${jsonBytes(record.map(toText))},` : "";
    to.text(jsonBytes(toText(record[emailColumn] ?? "")));
    writeDuplicate(to, duplicateOf);
    to.text(columns);
  }

  function write(to: RowBytes, row: JoinedRow): void {
    const { result } = row;
    to.all(ROW);
    to.number(row.row + 1);
    to.all(INPUT);
    writeValues(to, row);
    if (result instanceof DrawnResult) result.writeMembers(to);
    // Without the brace that opens it.
    else to.part(result.bytes, result.jsonAt + 1, result.end);
    to.all(JSONL_END);
  }

  return { start: Buffer.alloc(0), rows: (rows) => weave(room, rows, write) };
}

/**
 * CSV by RFC 4180, with the delimiter of the job and the byte order mark of its source; or JSONL: a line for each row, its
 * result with `row` (from 1), `input`, `duplicate_of`, and `columns` where the source has any.
 */
export function formatOf(format: Format, job: JobMaterial, room: Room = ownRoom): RowsFormat {
  return format === "csv" ? csvFormat(job, room) : jsonlFormat(job, room);
}
