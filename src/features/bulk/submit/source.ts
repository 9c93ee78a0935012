import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { asksForError } from "../../verify/answer/test-keys.ts";
import { type CutChunk, createChunkCutter } from "../analysis/chunk-cutter.ts";
import type { SourceColumns, SourceLayout } from "../analysis/layout.ts";
import { type ChunkRepeats, encodeChunkRepeats } from "../analysis/repeats.ts";
import type { ChunkRange } from "../schedule/job-tasks.ts";
import { writeMark } from "../split/mark.ts";
import { ADDRESS_COLUMN, splitAddressTexts } from "../split/splitter.ts";

/** A list before any of its addresses is verified. */
export interface AnalysedSource {
  /** The source object. */
  content: Buffer;
  /** For a list of a test key, the first text that requests an error; null: no text does. */
  testError: string | null;
  /** Bytes as in `inlineBytes`; with split cells, a cell counts once for each of its addresses. */
  bytes: number;
  layout: SourceLayout;
  chunks: ChunkRange[];
  /** The index of repeats; empty: there are none. */
  repeats: Buffer;
  rows: number;
  duplicates: number;
  malformed: number;
  empty: number;
  /** Units of quota that the job may cost: each well-formed address once. */
  billable: number;
}

export interface InlineOptions {
  /** Each address of a text is a row: there may be too many (`rows`). */
  splitCells?: boolean;
  /** True for a list of a test key. */
  isTest?: boolean;
}

/** `analyseInline`: but for a short list off the event loop. @param share see `shareKey` @throws AppError `overloaded` */
export type AnalyseInline = (
  emails: readonly string[],
  options: InlineOptions,
  share: string,
) => Promise<AnalysedSource>;

/** A list of a request becomes a file of one column; it is as if its header had been read. */
const INLINE_LAYOUT: SourceLayout = {
  delimiter: ",",
  emailColumn: 0,
  columns: 1,
  header: ["email"],
  bom: false,
};

const SPLIT_LAYOUT: SourceLayout = {
  ...INLINE_LAYOUT,
  emailColumn: ADDRESS_COLUMN,
  split: { emailColumn: INLINE_LAYOUT.emailColumn },
};

/** Columns of an inline list: there is only one. */
export const INLINE_COLUMNS: SourceColumns = {
  email: { index: 0, name: "email", chosen_by: "only" },
  others: [],
  delimiter: ",",
  has_header: false,
  encoding: "utf-8",
  escape: '"',
  skipped_lines: [],
  sheet: null,
};

/** Which rows repeat which, counted from 0. */
interface Repeats {
  sameAs: Map<number, number>;
  copies: Map<number, number>;
  malformed: number;
  empty: number;
  testError: string | null;
}

/** An address that becomes a record: a text of the request, or one address of it. */
interface InlineCell {
  /** Row in the request's list, from 0. */
  row: number;
  text: string;
  isPart: boolean;
  given: string;
}

/** Cells of the list. With splitting it stops once there is one too many. */
async function cellsOf(emails: readonly string[], splitCells: boolean): Promise<InlineCell[]> {
  const cells: InlineCell[] = [];
  for (const [row, given] of emails.entries()) {
    if (splitCells && cells.length > LIMITS.bulk.inlineRows) break;
    if (row % LIMITS.bulk.rowsPerTick === 0) await turn();
    const texts = splitCells ? splitAddressTexts(given) : null;
    if (texts === null) cells.push({ row, text: given, isPart: false, given });
    else for (const text of texts) cells.push({ row, text, isPart: true, given });
  }
  return cells;
}

async function findRepeats(emails: readonly string[], isTest: boolean): Promise<Repeats> {
  const firsts = new Map<string, number>();
  const found: Repeats = { sameAs: new Map(), copies: new Map(), malformed: 0, empty: 0, testError: null };
  for (const [row, email] of emails.entries()) {
    if (row % LIMITS.bulk.rowsPerTick === 0) await turn();
    const reading = readAddresses(email);
    if (reading.kind !== "one") {
      if (reading.kind === "empty") found.empty += 1;
      else found.malformed += 1;
      continue;
    }
    if (isTest && found.testError === null && asksForError(reading)) found.testError = email;
    const first = firsts.get(reading.address.cacheKey);
    if (first === undefined) {
      firsts.set(reading.address.cacheKey, row);
      continue;
    }
    found.sameAs.set(row, first);
    found.copies.set(first, (found.copies.get(first) ?? 0) + 1);
  }
  return found;
}

function repeatsOf({ firstRow, rows }: CutChunk, { sameAs, copies }: Repeats): ChunkRepeats {
  const here: ChunkRepeats = { sameAs: new Map(), copies: new Map() };
  for (let offset = 0; offset < rows; offset++) {
    const first = sameAs.get(firstRow + offset);
    if (first !== undefined) here.sameAs.set(offset, first);
    const count = copies.get(firstRow + offset);
    if (count !== undefined) here.copies.set(offset, count);
  }
  return here;
}

/** Quoted, so that a line end in it, or an empty text, is not taken for the end of the record. */
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

function recordOf({ row, text, isPart, given }: InlineCell, splitCells: boolean): Buffer {
  const before = splitCells ? `${writeMark(row, isPart, INLINE_LAYOUT.delimiter)},${quoted(text)},` : "";
  return Buffer.from(`${before}${quoted(given)}\n`);
}

/**
 * Analyses an inline list. Repeats are found exactly, by normalised address; malformed texts are counted, and repeat
 * nothing. Other work runs in between.
 * @param emails LIMITS.bulk.inlineRows at most
 */
export async function analyseInline(
  emails: readonly string[],
  { splitCells = false, isTest = false }: InlineOptions = {},
): Promise<AnalysedSource> {
  const cells = await cellsOf(emails, splitCells);
  const texts = cells.map(({ text }) => text);
  const found = await findRepeats(texts, isTest);
  const records: Buffer[] = [];
  const cutter = createChunkCutter();
  let end = 0;
  for (const [i, cell] of cells.entries()) {
    if (i % LIMITS.bulk.rowsPerTick === 0) await turn();
    const record = recordOf(cell, splitCells);
    records.push(record);
    cutter.add(end, end + record.length);
    end += record.length;
  }
  const parts: Buffer[] = [];
  const chunks: ChunkRange[] = [];
  let repeatsByte = 0;
  for (const chunk of cutter.end()) {
    const part = encodeChunkRepeats(repeatsOf(chunk, found));
    chunks.push({ ...chunk, repeatsByte, repeatsBytes: part.length });
    parts.push(part);
    repeatsByte += part.length;
  }
  return {
    content: Buffer.concat(records),
    testError: found.testError,
    bytes: inlineBytes(cells.map(({ given }) => given)),
    layout: splitCells ? SPLIT_LAYOUT : INLINE_LAYOUT,
    chunks,
    repeats: Buffer.concat(parts),
    rows: cells.length,
    duplicates: found.sameAs.size,
    malformed: found.malformed,
    empty: found.empty,
    billable: cells.length - found.sameAs.size - found.malformed - found.empty,
  };
}

/** Bytes of a list as a file of one address a line would have. */
export function inlineBytes(emails: readonly string[]): number {
  return emails.reduce((sum, email) => sum + Buffer.byteLength(email) + 1, 0);
}
