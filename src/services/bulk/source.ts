import { setImmediate as turn } from "node:timers/promises";
import { parseAddress } from "../../check/address.ts";
import { LIMITS } from "../../core/limits.ts";
import type { ChunkRange } from "../../store/job-tasks.ts";
import { readJsonLines, writeJsonLines } from "./json-lines.ts";

/** One row of a source object: a line of JSON. */
export interface SourceRow {
  /** As it was given. */
  email: string;
  /** The row, counted from 0, that had the same address first: this one copies its result. */
  same_as?: number;
  /** How many rows copy this one's result. */
  copies?: number;
}

/** What is known of a list before any of its addresses is verified. */
export interface AnalysedSource {
  /** The source object. */
  content: Buffer;
  chunks: ChunkRange[];
  rows: number;
  duplicates: number;
  malformed: number;
  /** Units of quota that the job may cost: each well-formed address once. */
  billable: number;
}

/** Who has which address, rows counted from 0. */
interface Repeats {
  sameAs: Map<number, number>;
  copies: Map<number, number>;
  malformed: number;
}

async function findRepeats(emails: readonly string[]): Promise<Repeats> {
  const firsts = new Map<string, number>();
  const found: Repeats = { sameAs: new Map(), copies: new Map(), malformed: 0 };
  for (const [row, email] of emails.entries()) {
    if (row % LIMITS.bulk.rowsPerTurn === 0) await turn();
    const parsed = parseAddress(email);
    if (!parsed.ok) {
      found.malformed += 1;
      continue;
    }
    const first = firsts.get(parsed.address.cacheKey);
    if (first === undefined) {
      firsts.set(parsed.address.cacheKey, row);
      continue;
    }
    found.sameAs.set(row, first);
    found.copies.set(first, (found.copies.get(first) ?? 0) + 1);
  }
  return found;
}

function sourceRow(email: string, sameAs: number | undefined, copies: number | undefined): SourceRow {
  const row: SourceRow = { email };
  if (sameAs !== undefined) row.same_as = sameAs;
  if (copies !== undefined) row.copies = copies;
  return row;
}

/**
 * Analyses an inline list: repeats are found exactly, by normalised address; what is badly formed is counted, and
 * repeats nothing. Lets other work go on in between.
 * @param emails LIMITS.bulk.inlineRows at most
 */
export async function analyseInline(emails: readonly string[]): Promise<AnalysedSource> {
  const { sameAs, copies, malformed } = await findRepeats(emails);
  const { rowsPerChunk } = LIMITS.bulk;
  const parts: Buffer[] = [];
  const chunks: ChunkRange[] = [];
  let firstByte = 0;
  for (let firstRow = 0; firstRow < emails.length; firstRow += rowsPerChunk) {
    const rows = emails
      .slice(firstRow, firstRow + rowsPerChunk)
      .map((email, i) => sourceRow(email, sameAs.get(firstRow + i), copies.get(firstRow + i)));
    const part = Buffer.from(writeJsonLines(rows));
    chunks.push({ firstRow, rows: rows.length, firstByte, bytes: part.length });
    parts.push(part);
    firstByte += part.length;
    await turn();
  }
  return {
    content: Buffer.concat(parts),
    chunks,
    rows: emails.length,
    duplicates: sameAs.size,
    malformed,
    billable: emails.length - sameAs.size - malformed,
  };
}

/** Bytes of a list as a file of one address a line would have. */
export function inlineBytes(emails: readonly string[]): number {
  return emails.reduce((sum, email) => sum + Buffer.byteLength(email) + 1, 0);
}

/**
 * The rows of a chunk.
 * @throws Error when it does not hold `rows` of them: the object is not what was written
 */
export function readSourceRows(content: Buffer, rows: number): SourceRow[] {
  const read = readJsonLines<SourceRow>(content);
  if (read.length !== rows) throw new Error(`a chunk of ${rows} rows holds ${read.length}`);
  return read;
}
