import type { JobMaterial } from "../../store/job-results.ts";
import { toText } from "./csv/field.ts";
import { fieldAt, fieldsOf } from "./csv/plain.ts";
import { isWrittenAsItStands, writeRecord } from "./csv/write.ts";
import { DrawnResult } from "./drawn-shard.ts";
import type { JoinedRow } from "./join.ts";
import { EVIDENCE_COLUMNS, RESULT_COLUMNS } from "./result-cells.ts";
import type { StoredResult } from "./shard.ts";

export const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

export const CONTENT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

/** Where rows are written: so many bytes. */
export type Room = (bytes: number) => Buffer;

const ownRoom: Room = (bytes) => Buffer.allocUnsafe(bytes);

/**
 * The same room again and again, for who is done with some rows before he asks for the next: buffers of a kilobyte a row, made
 * anew, cost more to collect than to fill.
 */
export function createRoom(): Room {
  let room = Buffer.alloc(0);
  return (bytes) => {
    if (bytes > room.length) room = Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.25));
    return room.subarray(0, bytes);
  };
}

/** How the results of a job are written in a format. */
export interface RowsFormat {
  /** What comes before the first row. */
  readonly start: Buffer;
  rows(rows: readonly JoinedRow[]): Buffer;
}

/** What of a result a format writes. */
interface PartOfResult {
  from(result: StoredResult): number;
  to(result: StoredResult): number;
  /** The same of one that was drawn, a character a byte. */
  text(result: DrawnResult): string;
}

/** Rows that were drawn are put together and written so many at a time: a fifth less than with two writes for each. */
const ROWS_PER_TEXT = 8;

/**
 * A text before the part of each row's result, latin1, and one behind each. Rows that were drawn are strings, put
 * together and written a few at once; of others the bytes are copied. Strings of a whole chunk would cost more to collect than
 * all the rest, and so would a Buffer for each part.
 */
function weave(
  room: Room,
  rows: readonly JoinedRow[],
  before: (row: JoinedRow) => string,
  part: PartOfResult,
  after: string,
) {
  const texts: string[] = [];
  /** Whose bytes follow the text of the same place; null: nobody's. */
  const copied: (StoredResult | null)[] = [];
  let bytes = 0;
  let text = "";
  let rowsOfText = 0;
  const end = (follows: StoredResult | null) => {
    bytes += text.length;
    texts.push(text);
    copied.push(follows);
    text = "";
    rowsOfText = 0;
  };
  for (const row of rows) {
    const { result } = row;
    text += before(row);
    if (result instanceof DrawnResult) text += part.text(result);
    else {
      bytes += part.to(result) - part.from(result);
      end(result);
    }
    text += after;
    rowsOfText += 1;
    if (rowsOfText >= ROWS_PER_TEXT) end(null);
  }
  end(null);
  const woven = room(bytes);
  let at = 0;
  for (let i = 0; i < texts.length; i++) {
    at += woven.write(texts[i] as string, at, "latin1");
    const result = copied[i] as StoredResult | null;
    if (result !== null) at += result.bytes.copy(woven, at, part.from(result), part.to(result));
  }
  return woven;
}

const CELLS: PartOfResult = {
  from: ({ csvAt }) => csvAt,
  to: ({ jsonAt }) => jsonAt,
  text: ({ cellsText }) => cellsText,
};

/** What follows the brace that opens the result's JSON. */
const MEMBERS: PartOfResult = {
  from: ({ jsonAt }) => jsonAt + 1,
  to: ({ end }) => end,
  text: ({ membersText }) => membersText,
};

const BOM = "\xef\xbb\xbf";

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
  return {
    start: Buffer.from(start, "latin1"),
    rows(rows) {
      const before = ({ line }: JoinedRow) =>
        isWrittenAsItStands(line, style) ? line : writeRecord(fieldsOf(line, delimiter), style);
      return weave(room, rows, before, CELLS, "\r\n");
    },
  };
}

/** What stands in JSON as it is, but for a tab, which only a list has whose delimiter it is. */
const SELF_IN_JSON = /^[\t !#-[\]-~]*$/;

/** JSON as its bytes of UTF-8, a character a byte. */
function jsonBytes(value: unknown): string {
  const json = JSON.stringify(value);
  return /[^\0-\x7f]/.test(json) ? Buffer.from(json).toString("latin1") : json;
}

function jsonlFormat({ layout, hasColumns }: JobMaterial, room: Room): RowsFormat {
  const { emailColumn, delimiter } = layout;
  const between = '","';

  /** The values of a record as members, from `columns` on where there are any, before them its address. */
  function valuesOf(line: string): { input: string; columns: string } {
    if (SELF_IN_JSON.test(line) && (delimiter === "\t" || !line.includes("\t"))) {
      const columns = hasColumns ? `"columns":["${line.replaceAll(delimiter, between)}"],` : "";
      return { input: `"${fieldAt(line, delimiter, emailColumn)}"`, columns };
    }
    const record = fieldsOf(line, delimiter);
    const columns = hasColumns ? `"columns":${jsonBytes(record.map(toText))},` : "";
    return { input: jsonBytes(toText(record[emailColumn] ?? "")), columns };
  }

  function start({ row, line, duplicateOf }: JoinedRow): string {
    const duplicate = duplicateOf === null ? "null" : String(duplicateOf + 1);
    const { input, columns } = valuesOf(line);
    return `{"row":${row + 1},"input":${input},"duplicate_of":${duplicate},${columns}`;
  }

  return {
    start: Buffer.alloc(0),
    rows(rows) {
      return weave(room, rows, start, MEMBERS, "\n");
    },
  };
}

/**
 * CSV by RFC 4180, with the delimiter of the job and the byte order mark of its source; or JSONL: a line for each row, its
 * result with `row` (from 1), `input`, `duplicate_of`, and `columns` where the source has any.
 */
export function formatOf(format: Format, job: JobMaterial, room: Room = ownRoom): RowsFormat {
  return format === "csv" ? csvFormat(job, room) : jsonlFormat(job, room);
}
