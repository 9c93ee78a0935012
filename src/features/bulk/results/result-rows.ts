import { FieldWriter, RecordCopier } from "../analysis/record-bytes.ts";
import { newRowBuffer, type RowBuffer, type RowBufferFactory } from "../analysis/row-buffer.ts";
import { type Dialect, dialectOfResults } from "../csv/dialect.ts";
import { fieldsOf, textIn } from "../csv/field.ts";
import { lineAt } from "../csv/lines.ts";
import { type RecordStyle, writeRecord } from "../csv/write.ts";
import { joinCells } from "../split/joined-cells.ts";
import { type PartsWriter, type RowPart, SplitRows } from "../split/rows.ts";
import type { JobMaterial } from "./job-results.ts";
import type { JoinedRow } from "./join.ts";
import { EVIDENCE_COLUMNS, RESULT_COLUMNS } from "./result-cells.ts";

export const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

export const CONTENT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

/** How the results of a job are written in a format. */
export interface RowsFormat {
  /** Bytes before the first row. */
  readonly start: Buffer;
  rows(rows: readonly JoinedRow[]): Buffer;
  /** Bytes after the last row. */
  end(): Buffer;
}

const NOTHING = Buffer.alloc(0);

/** Approximate bytes of one row. A buffer that is too small grows. */
const ROW_BYTES = 1_536;

const BOM = "\xef\xbb\xbf";

const CSV_END = Buffer.from("\r\n");

/** A class, as `JsonlRows`: see `RecordCopier`. */
class CsvRows implements RowsFormat, PartsWriter {
  readonly start: Buffer;
  readonly #room: RowBufferFactory;
  readonly #source: Dialect;
  readonly #style: RecordStyle;
  readonly #copier: RecordCopier;

  /**
   * The columns of the source, as it names them, then ours. A source without a header gets one, `column_1` and so on, since
   * our columns need their names.
   */
  constructor({ layout, escapeFormulas, withEvidence }: JobMaterial, room: RowBufferFactory) {
    const { columns, header, bom } = layout;
    const style = { ...dialectOfResults(layout), columns, escapeFormulas };
    const names = header ?? Array.from({ length: columns }, (_, i) => `column_${i + 1}`);
    const padded = [...names, ...Array<string>(Math.max(0, columns - names.length)).fill("")];
    const all = [...padded, ...RESULT_COLUMNS, ...(withEvidence ? EVIDENCE_COLUMNS : [])];
    const start = `${bom ? BOM : ""}${writeRecord(all, { ...style, columns: all.length })}\r\n`;
    this.start = Buffer.from(start, "latin1");
    this.#room = room;
    this.#source = layout;
    this.#style = style;
    this.#copier = new RecordCopier(style);
  }

  rows(rows: readonly JoinedRow[]): Buffer {
    const to = this.#room(rows.length * ROW_BYTES);
    for (const row of rows) this.write(to, row);
    return to.take();
  }

  end(): Buffer {
    return NOTHING;
  }

  write(to: RowBuffer, row: JoinedRow): void {
    const { result } = row;
    this.#writeColumns(to, row);
    result.writeCells(to);
    to.all(CSV_END);
  }

  writeParts(to: RowBuffer, row: JoinedRow, parts: readonly RowPart[]): void {
    this.#writeColumns(to, row);
    to.text(
      joinCells(
        parts.map(({ result }) => result.csv.toString("latin1")),
        this.#style,
      ),
    );
    to.all(CSV_END);
  }

  #writeColumns(to: RowBuffer, { lines, offset }: JoinedRow): void {
    if (this.#copier.copy(to, lines, offset)) return;
    to.text(writeRecord(fieldsOf(lineAt(lines, offset), this.#source), this.#style));
  }
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
const PARTS = Buffer.from('"parts":[');
const FIRST_PART = Buffer.from('{"input":');
const NEXT_PART = Buffer.from(',{"input":');
const PARTS_END = Buffer.from("]}\n");

function writeDuplicate(to: RowBuffer, duplicateOf: number | null): void {
  if (duplicateOf === null) to.all(NO_DUPLICATE);
  else {
    to.all(DUPLICATE);
    to.number(duplicateOf + 1);
    to.all(COMMA);
  }
}

class JsonlRows implements RowsFormat, PartsWriter {
  readonly start = Buffer.alloc(0);
  readonly #room: RowBufferFactory;
  readonly #emailColumn: number;
  readonly #source: Dialect;
  readonly #hasColumns: boolean;
  readonly #fields: FieldWriter;

  constructor({ layout, hasColumns }: JobMaterial, room: RowBufferFactory) {
    this.#room = room;
    this.#emailColumn = layout.split?.emailColumn ?? layout.emailColumn;
    this.#source = layout;
    this.#hasColumns = hasColumns;
    this.#fields = new FieldWriter(layout.delimiter);
  }

  rows(rows: readonly JoinedRow[]): Buffer {
    const to = this.#room(rows.length * ROW_BYTES);
    for (const row of rows) this.write(to, row);
    return to.take();
  }

  end(): Buffer {
    return NOTHING;
  }

  /** Writes the row's start, its part of the result, and its end. */
  write(to: RowBuffer, row: JoinedRow): void {
    const { result } = row;
    to.all(ROW);
    to.number(row.row + 1);
    to.all(INPUT);
    this.#writeValues(to, row);
    result.writeMembers(to);
    to.all(JSONL_END);
  }

  writeParts(to: RowBuffer, row: JoinedRow, parts: readonly RowPart[]): void {
    to.all(ROW);
    to.number(row.row + 1);
    to.all(INPUT);
    this.#writeValues(to, { ...row, duplicateOf: null });
    to.all(PARTS);
    for (const [i, { input, duplicateOf, result }] of parts.entries()) {
      to.all(i === 0 ? FIRST_PART : NEXT_PART);
      to.text(jsonBytes(input));
      writeDuplicate(to, duplicateOf);
      to.all(result.json.subarray(1));
    }
    to.all(PARTS_END);
  }

  /** The record's address and, where there are any, its columns. */
  #writeValues(to: RowBuffer, { lines, offset, duplicateOf }: JoinedRow): void {
    const fields = this.#fields;
    const hasColumns = this.#hasColumns;
    if (fields.areSelf(lines, offset)) {
      fields.writeAddress(to, lines, offset);
      writeDuplicate(to, duplicateOf);
      if (hasColumns) fields.writeAll(to, lines, offset);
      return;
    }
    const { encoding } = this.#source;
    const record = fieldsOf(lineAt(lines, offset), this.#source);
    const columns = hasColumns
      ? `"columns":${jsonBytes(record.map((value) => textIn(value, encoding)))},`
      : "";
    to.text(jsonBytes(textIn(record[this.#emailColumn] ?? "", encoding)));
    writeDuplicate(to, duplicateOf);
    to.text(columns);
  }
}

/**
 * CSV by RFC 4180, with the delimiter of the job, and a byte order mark if its layout says so. Or JSONL: a line for each row, with
 * its result, `row` (from 1), `input`, `duplicate_of`, and `columns` if the source has further ones. If cells were split,
 * the addresses of a row are joined again (split/rows.ts).
 */
export function formatOf(
  format: Format,
  job: JobMaterial,
  room: RowBufferFactory = newRowBuffer,
): RowsFormat {
  const rows = format === "csv" ? new CsvRows(job, room) : new JsonlRows(job, room);
  const { split } = job.layout;
  return split === undefined ? rows : new SplitRows(rows, { ...job.layout, ...split }, room);
}
