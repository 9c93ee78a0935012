import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { SourceOptions } from "../../../src/features/bulk/analysis/layout.ts";
import { type DetectedLayout, detectLayout } from "../../../src/features/bulk/csv/detect.ts";
import { openText } from "../../../src/features/bulk/csv/encoding/decode.ts";
import { byteUnitOf } from "../../../src/features/bulk/csv/encoding/text-form.ts";
import { parseRecords } from "../../../src/features/bulk/csv/parse.ts";
import { type CsvProblem, CsvProblemError } from "../../../src/features/bulk/csv/problems.ts";
import { createRecordScanner } from "../../../src/features/bulk/csv/scan.ts";
import { quoteJudge } from "../../../src/features/bulk/csv/suspicion.ts";
import { valueAt } from "../../../src/features/bulk/csv/value-place.ts";

export interface ReadList {
  layout: DetectedLayout;
  rangeReadable: boolean;
  /** As the ranges that the scanner found are parsed, each by itself. */
  rows: string[][];
  /** As the scanner found them. */
  addresses: string[];
  widths: number[];
}

/** Reads a list as a job does: opens, detects, scans, and parses what the scanner found. Or says why it cannot be read. */
export async function readList(
  source: AsyncIterable<Uint8Array>,
  options: SourceOptions = {},
  decompressedBytes = 10_000_000,
): Promise<ReadList | CsvProblem> {
  const { sampleBytes, recordBytes, columns } = LIMITS.bulk;
  const opened = await openText(source, { decompressedBytes, sampleBytes });
  if (!opened.ok) return { code: opened.code, detail: opened.detail };
  const detected = await detectLayout(opened.head, {
    ...options,
    whole: opened.whole,
    bytesOf: byteUnitOf(opened.form),
  });
  if (!detected.ok) {
    await opened.close();
    return { code: detected.code, detail: detected.detail };
  }
  const { layout, firstByte, shape } = detected;
  const ranges: [number, number][] = [];
  const list: ReadList = { layout, rangeReadable: opened.rangeReadable, rows: [], addresses: [], widths: [] };
  const scanner = createRecordScanner(
    {
      ...layout,
      recordBytes,
      columns,
      firstByte,
      bytesOf: byteUnitOf(opened.form),
      judge: quoteJudge(layout, shape),
    },
    (start, end, width, address) => {
      ranges.push([start, end]);
      list.addresses.push(valueAt(address));
      list.widths.push(width);
    },
  );
  const pieces: Buffer[] = [];
  let skip = firstByte;
  try {
    for await (const piece of opened.text) {
      pieces.push(piece);
      const problem = scanner.push(piece.subarray(Math.min(skip, piece.length)));
      if (problem !== undefined) return problem;
      skip = Math.max(0, skip - piece.length);
    }
  } catch (error) {
    if (error instanceof CsvProblemError) return error.problem;
    throw error;
  }
  const problem = scanner.end();
  if (problem !== undefined) return problem;
  const text = Buffer.concat(pieces);
  list.rows = ranges.flatMap(([start, end]) => parseRecords(text.subarray(start, end), layout));
  return list;
}
