import type { JobMaterial } from "../../store/job-results.ts";
import { toText } from "./csv/field.ts";
import { writeRecord } from "./csv/write.ts";
import type { JoinedRow } from "./join.ts";
import { EVIDENCE_COLUMNS, RESULT_COLUMNS } from "./result-cells.ts";
import type { StoredResult } from "./shard.ts";

export const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

export const CONTENT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

/** How the results of a job are written in a format. */
export interface RowsFormat {
  /** What comes before the first row. */
  readonly start: Buffer;
  rows(rows: readonly JoinedRow[]): Buffer;
}

/** Which of a result's bytes a format writes. */
interface PartOfResult {
  from(result: StoredResult): number;
  to(result: StoredResult): number;
}

/**
 * A text before the part of each row's result, latin1, and one behind the last; nothing of no rows. Strings of a whole chunk
 * would cost more to collect than all the rest, and so would a Buffer for each part.
 */
function weave(texts: readonly string[], rows: readonly JoinedRow[], part: PartOfResult): Buffer {
  if (rows.length === 0) return Buffer.alloc(0);
  let bytes = 0;
  for (const text of texts) bytes += text.length;
  for (const { result } of rows) bytes += part.to(result) - part.from(result);
  const woven = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const [i, text] of texts.entries()) {
    at += woven.write(text, at, "latin1");
    const row = rows[i];
    if (row === undefined) break;
    at += row.result.bytes.copy(woven, at, part.from(row.result), part.to(row.result));
  }
  return woven;
}

const CELLS: PartOfResult = { from: ({ csvAt }) => csvAt, to: ({ jsonAt }) => jsonAt };

/** What follows the brace that opens the result's JSON. */
const MEMBERS: PartOfResult = { from: ({ jsonAt }) => jsonAt + 1, to: ({ end }) => end };

const BOM = "\xef\xbb\xbf";

/**
 * The columns of the source, as it names them, then ours. A source without a header gets one, `column_1` and so on, since
 * our columns need their names.
 */
function csvFormat({ layout, escapeFormulas, withEvidence }: JobMaterial): RowsFormat {
  const { delimiter, columns, header, bom } = layout;
  const style = { delimiter, columns, escapeFormulas };
  const names = header ?? Array.from({ length: columns }, (_, i) => `column_${i + 1}`);
  const padded = [...names, ...Array<string>(Math.max(0, columns - names.length)).fill("")];
  const all = [...padded, ...RESULT_COLUMNS, ...(withEvidence ? EVIDENCE_COLUMNS : [])];
  const start = `${bom ? BOM : ""}${writeRecord(all, { ...style, columns: all.length })}\r\n`;
  return {
    start: Buffer.from(start, "latin1"),
    rows(rows) {
      const texts = rows.map(({ record }, i) => (i === 0 ? "" : "\r\n") + writeRecord(record, style));
      return weave([...texts, "\r\n"], rows, CELLS);
    },
  };
}

/** JSON as its bytes of UTF-8, a character a byte. */
function jsonBytes(value: unknown): string {
  const json = JSON.stringify(value);
  return /[^\0-\x7f]/.test(json) ? Buffer.from(json).toString("latin1") : json;
}

function jsonlFormat({ layout, hasColumns }: JobMaterial): RowsFormat {
  const { emailColumn } = layout;

  function start({ row, record, duplicateOf }: JoinedRow): string {
    const duplicate = duplicateOf === null ? "null" : String(duplicateOf + 1);
    const columns = hasColumns ? `"columns":${jsonBytes(record.map(toText))},` : "";
    const input = jsonBytes(toText(record[emailColumn] ?? ""));
    return `{"row":${row + 1},"input":${input},"duplicate_of":${duplicate},${columns}`;
  }

  return {
    start: Buffer.alloc(0),
    rows(rows) {
      const texts = rows.map((row, i) => (i === 0 ? "" : "\n") + start(row));
      return weave([...texts, "\n"], rows, MEMBERS);
    },
  };
}

/**
 * CSV by RFC 4180, with the delimiter of the job and the byte order mark of its source; or JSONL: a line for each row, its
 * result with `row` (from 1), `input`, `duplicate_of`, and `columns` where the source has any.
 */
export function formatOf(format: Format, job: JobMaterial): RowsFormat {
  return format === "csv" ? csvFormat(job) : jsonlFormat(job);
}
