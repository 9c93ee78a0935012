import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { analyseSource, type ScannedSource } from "../../src/features/bulk/analysis/analyse.ts";
import type { SourceOptions } from "../../src/features/bulk/analysis/layout.ts";
import { toText } from "../../src/features/bulk/csv/field.ts";
import { parseRecords } from "../../src/features/bulk/csv/parse.ts";
import { cut } from "./csv-corpus/hostile.ts";
import { sourceOf } from "./csv-corpus/sources.ts";

/** A list as the analysis of a job reads it. */
export interface AnalysedList extends ScannedSource {
  /** The rows of its chunks, as text. */
  cells: string[][];
  /** Their cells in the column of addresses. */
  emails: string[];
}

export const fixtureList = (name: string): Buffer =>
  readFileSync(new URL(`../fixtures/lists/${name}.csv`, import.meta.url));

export async function analyseList(
  list: string | Buffer,
  options: SourceOptions & { splitCells?: boolean } = {},
  pieceBytes = 65_536,
) {
  const bytes = Buffer.from(list);
  const rewritten: Buffer[] = [];
  const sinks = {
    repeats: { add: () => null },
    rewrite: () => ({ write: async (piece: Buffer) => void rewritten.push(Buffer.from(piece)) }),
  };
  const bounds = { rows: 1_000_000, bytes: 1e9 };
  const { signal } = new AbortController();
  const found = await analyseSource(sourceOf(cut(bytes, [pieceBytes])), options, bounds, sinks, signal);
  return { found, text: rewritten.length > 0 ? Buffer.concat(rewritten) : bytes };
}

/** @throws AssertionError when it cannot be read */
export async function analysedList(
  list: string | Buffer,
  options: SourceOptions = {},
  pieceBytes?: number,
): Promise<AnalysedList> {
  const { found, text } = await analyseList(list, options, pieceBytes);
  assert.ok(found.ok, JSON.stringify(found));
  const { emailColumn } = found.layout;
  const cells = found.chunks.flatMap(({ firstByte, bytes, rows }) => {
    const records = parseRecords(text.subarray(firstByte, firstByte + bytes), found.layout);
    assert.equal(records.length, rows);
    return records.map((record) => record.map(toText));
  });
  return { ...found, cells, emails: cells.map((record) => record[emailColumn] ?? "") };
}
