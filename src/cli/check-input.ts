import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { LIMITS } from "../config/limits/limits.ts";
import type { CellStyle } from "../features/bulk/analysis/layout.ts";
import { toUtf8 } from "../features/bulk/csv/field.ts";
import { parseRecords } from "../features/bulk/csv/parse.ts";
import { openSource } from "../features/bulk/submit/open-source.ts";
import type { RandomBytes } from "../features/bulk/workbook/random-bytes.ts";
import { UsageError } from "../operator/command.ts";

/** @throws UsageError */
function requireShort(line: string): void {
  const { lineBytes } = LIMITS.verifier;
  if (Buffer.byteLength(line) > lineBytes)
    throw new UsageError(
      `a line of standard input is over ${lineBytes} bytes: give one address a line, or a list with --csv FILE`,
    );
}

const LINE_BREAK = /\r\n|\n|\r/;

/**
 * Lines as they come, without their ends and without empty ones.
 * @param over when it is aborted `input` is left, also while nothing comes from it
 * @throws UsageError for a line over LIMITS.verifier.lineBytes
 */
export async function* linesOf(input: Readable, over: AbortSignal): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  try {
    for await (const chunk of addAbortSignal(over, input)) {
      const lines = (rest + decoder.write(chunk as Buffer)).split(LINE_BREAK);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        requireShort(line);
        if (line.trim() !== "") yield line;
      }
      requireShort(rest);
    }
  } catch (error) {
    if (!over.aborted) throw error;
    return;
  }
  const last = rest + decoder.end();
  if (last.trim() !== "") yield last;
}

/**
 * The addresses of the command line; `-` stands for the lines of standard input.
 * @param over aborted: standard input is no longer read, even while it sends nothing
 */
export async function* textsOf(addresses: readonly string[], over: AbortSignal): AsyncGenerator<string> {
  for (const address of addresses)
    if (address !== "-") yield address;
    else yield* linesOf(process.stdin, over);
}

/** A list, read whole. Its cells are bytes, a character each. */
export interface ReadList {
  /** Content of the address column, one per row. */
  addresses: string[];
  rows: string[][];
  /** null: it has none. */
  header: string[] | null;
  /** Columns of the widest row. */
  columns: number;
  style: CellStyle;
  /** The columns that hold the addresses, in words. */
  column: string;
}

/** Random access for a workbook: its parts lie anywhere in the file. */
async function randomBytesOfFile(path: string): Promise<RandomBytes> {
  const { size } = await stat(path);
  const open = (firstByte: number, bytes: number): AsyncIterable<Buffer> =>
    createReadStream(path, { start: firstByte, end: firstByte + bytes - 1 });
  return {
    length: size,
    open,
    async read(firstByte, bytes) {
      if (bytes === 0) return Buffer.alloc(0);
      const pieces: Buffer[] = [];
      for await (const piece of open(firstByte, bytes)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
  };
}

/** Options of a list on the command line. */
export interface ListOptions {
  /** The column of addresses: a name in the header, or a number from 0; undefined: the likeliest. */
  column?: string | undefined;
  /** For a workbook: the name of a sheet, or its number from 0; undefined: the first with a table. */
  sheet?: string | undefined;
}

const nameOrNumber = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);

async function readWhole(text: AsyncIterable<Buffer>, path: string): Promise<Buffer> {
  const { listBytes } = LIMITS.verifier;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of text) {
    bytes += piece.length;
    if (bytes > listBytes)
      throw new UsageError(`${path} is over ${listBytes} bytes: have a server verify it (docs/lists.md)`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/**
 * Reads a list as a bulk job would: delimiter, header, encoding and column are found out.
 * @throws UsageError for a list that a job would refuse, or a file that cannot be read
 */
export async function readList(path: string, { column, sheet }: ListOptions): Promise<ReadList> {
  const options = {
    ...(column === undefined ? {} : { emailColumn: nameOrNumber(column) }),
    ...(sheet === undefined ? {} : { sheet: nameOrNumber(sheet) }),
    workbook: { at: () => randomBytesOfFile(path), scratch: null },
  };
  const source = createReadStream(path) as AsyncIterable<Uint8Array>;
  const opened = await openSource(source, options, LIMITS.verifier.listBytes).catch((error: Error) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`, { cause: error });
  });
  if (!opened.ok) {
    const which = opened.candidates?.map(({ name, index }) => name ?? String(index)).join(", ");
    const hint = which === undefined ? "" : ` --column chooses one of: ${which}`;
    throw new UsageError(`${path}: ${opened.detail}${hint}`);
  }
  const { layout, firstByte, columns } = opened.detected;
  const text = await readWhole(opened.opened.text, path);
  const rows = parseRecords(text.subarray(firstByte), layout);
  return {
    addresses: rows.map((row) => toUtf8(row[layout.emailColumn] ?? "", layout.encoding)),
    rows,
    header: layout.header,
    columns: rows.reduce((most, row) => Math.max(most, row.length), layout.header?.length ?? 1),
    style: { ...layout, escapeFormulas: true },
    column: columns.email.name ?? `column ${columns.email.index}`,
  };
}
