import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Scratch } from "../../../stores/scratch.ts";
import { Archive } from "./archive.ts";
import { readDateStyles, readParts, type Sheet } from "./parts.ts";
import type { RandomBytes } from "./random-bytes.ts";
import { workbookUnreadable } from "./refusals.ts";
import { readSharedStrings } from "./shared-strings.ts";
import { SheetRows, StringsCut } from "./sheet.ts";
import { StringTable } from "./string-table.ts";
import { XmlReader } from "./xml.ts";

/**
 * Reads .xlsx and .xlsm (Office Open XML, ECMA-376) as lists, in bounded memory.
 *
 * No maintained library of the registry streams a sheet. exceljs and xlsx-stream-reader have had no release for years; xlsx
 * reads all into memory and is no longer released there; hucre and read-excel-file hold the shared strings, or the file, in
 * memory. So two small maintained libraries do the general work, yauzl (the archive's directory) and saxes (XML; twice as
 * fast as sax, 22 MB/s). This folder has the code for sheets. Everything else (columns, rows, chunks, results) sees CSV.
 */
export interface WorkbookOptions {
  /** A name, or an index from 0; absent: the first that is not hidden. */
  sheet?: string | number;
  /** Delimiter of the CSV text. */
  delimiter?: string;
  /** Scratch space for shared strings that do not fit memory; null: reading ends when they do not fit. */
  scratch: Scratch | null;
  /** Limit of all shared strings. */
  stringsBytes: number;
}

/** A sheet that is read, and the others of its workbook. */
export interface ChosenSheet {
  name: string;
  /** From 0. */
  index: number;
  /** Names of the others, in order, 20 at most. */
  others: string[];
}

export interface OpenedWorkbook {
  sheet: ChosenSheet;
  /** Parts the fields of the text. */
  delimiter: string;
  /** The sheet as CSV, UTF-8, to be read once. Ends with a CsvProblemError, or an error of the source. */
  text: AsyncGenerator<Buffer>;
  /** The text ended before the sheet did, for want of scratch. */
  isCut(): boolean;
  close(): Promise<void>;
}

const { previewBytes } = LIMITS.bulk.workbook;

/** Begins with a local file header, or the end of an empty archive's directory (APPNOTE.TXT 4.3). */
export function isZip(start: Buffer): boolean {
  return (
    start[0] === 0x50 && start[1] === 0x4b && (start[2] === 3 || start[2] === 5) && start[3] === start[2] + 1
  );
}

const NAMES_SHOWN = 20;
/** Maximum characters of a name. Spreadsheets allow 31; names are stored with the job, where NUL is not allowed. */
const NAME_CHARS = 255;
const shown = (name: string) => [...name].slice(0, NAME_CHARS).join("").replaceAll("\0", "");

function listed(sheets: readonly Sheet[]): string {
  const names = sheets.slice(0, NAMES_SHOWN).map(({ name }, i) => `${i} ${JSON.stringify(shown(name))}`);
  const more = sheets.length > NAMES_SHOWN ? ` and ${sheets.length - NAMES_SHOWN} more` : "";
  return `Its sheets are: ${names.join(", ")}${more}`;
}

function indexOf(sheets: readonly Sheet[], asked: string | number | undefined): number {
  if (asked === undefined)
    return Math.max(
      0,
      sheets.findIndex(({ isHidden }) => !isHidden),
    );
  if (typeof asked === "number") return asked < sheets.length ? asked : -1;
  const exact = sheets.findIndex(({ name }) => name === asked);
  if (exact >= 0) return exact;
  const fold = (name: string) => name.trim().toLowerCase();
  return sheets.findIndex(({ name }) => fold(name) === fold(asked));
}

function choose(
  sheets: readonly Sheet[],
  asked: string | number | undefined,
): ChosenSheet & { part: string } {
  const index = indexOf(sheets, asked);
  const chosen = sheets[index];
  if (chosen === undefined)
    throw workbookUnreadable(`it has no sheet ${JSON.stringify(asked)}. ${listed(sheets)}`);
  const others = sheets.filter((_, i) => i !== index).slice(0, NAMES_SHOWN);
  return {
    index,
    name: shown(chosen.name),
    others: others.map(({ name }) => shown(name)),
    part: chosen.part,
  };
}

/**
 * Opens a workbook by its directory. It reads the shared strings whole, and the sheet as fast as its text is taken. Memory:
 * a StringTable, one row, some pieces, and the directory. Without scratch LIMITS.bulk.workbook.previewBytes of each at
 * most.
 * @throws CsvProblemError; errors of the source and the scratch
 */
export async function openWorkbook(source: RandomBytes, options: WorkbookOptions): Promise<OpenedWorkbook> {
  const { scratch, stringsBytes, delimiter = "," } = options;
  const partBytes = scratch === null ? previewBytes : Number.POSITIVE_INFINITY;
  const archive = await Archive.open(source);
  const parts = await readParts(archive);
  const { part, ...sheet } = choose(parts.sheets, options.sheet);
  const isDate = await readDateStyles(archive, parts.styles);
  const strings = new StringTable(scratch, stringsBytes);
  const close = () => strings.close();
  try {
    if (parts.sharedStrings === null) strings.isComplete = true;
    else await readSharedStrings(archive, parts.sharedStrings, strings, partBytes);
  } catch (error) {
    await close();
    throw error;
  }
  const state = { isCut: false };
  const rows = new SheetRows({ strings, isDate, is1904: parts.is1904, delimiter });
  const text = readSheet(archive.part(part), new XmlReader(part, rows), rows, partBytes, state);
  return { sheet, delimiter, text, isCut: () => state.isCut, close };
}

/** Bytes read at once, and text yielded at once: a cell of 30 bytes may refer to a string of a megabyte. */
const SLICE_BYTES = 1_024;
const TEXT_CHARS = 65_536;

async function* readSheet(
  pieces: AsyncIterable<Buffer>,
  reader: XmlReader,
  rows: SheetRows,
  bytesMax: number,
  state: { isCut: boolean },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      state.isCut = bytes > bytesMax;
      if (state.isCut) return;
      for (let at = 0; at < piece.length; at += SLICE_BYTES) {
        reader.push(piece.subarray(at, at + SLICE_BYTES));
        if (rows.pendingChars < TEXT_CHARS) continue;
        yield rows.take();
        await turn();
      }
      const text = rows.take();
      if (text.length > 0) yield text;
      await turn();
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof StringsCut)) throw error;
    state.isCut = true;
  }
  const rest = rows.take();
  if (rest.length > 0) yield rest;
}
