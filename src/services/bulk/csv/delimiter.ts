import { LIMITS } from "../../../core/limits.ts";
import { addressWeight } from "../columns/column-evidence.ts";
import { namesAddresses } from "../columns/header-meaning.ts";
import { parseRecords } from "./parse.ts";
import type { CsvProblem } from "./problems.ts";
import { createRecordScanner } from "./scan.ts";

const CANDIDATES = [",", ";", "\t", "|"] as const;

/** The first records of a list, by one delimiter. */
export interface Sample {
  delimiter: string;
  /** No more than LIMITS.bulk.sampleRows. */
  records: string[][];
  /** Where in the text each of them begins, and where it ends. */
  starts: number[];
  ends: number[];
  /** The records are all that there are. */
  complete: boolean;
  /** What ends the list within the sample. */
  problem: CsvProblem | undefined;
  /** Where in the text the quote stands within which the sample ends. */
  openQuote: number | undefined;
}

/** The first bytes of a list. */
export interface SampleText {
  bytes: Buffer;
  /** There are no more. */
  whole: boolean;
  /** Where in the text they begin. */
  firstByte: number;
  /** What details call the first record, and what bytes are counted of: as the scanner takes them. */
  firstRow: string;
  bytesOf: string;
}

/** Reads the records that end within the bytes; of a whole text also the last, which may have no end. */
export function takeSample(text: SampleText, delimiter: string): Sample {
  const { bytes, whole, ...place } = text;
  const { recordBytes, columns, sampleRows } = LIMITS.bulk;
  const starts: number[] = [];
  const ends: number[] = [];
  let isCut = !whole;
  const scanner = createRecordScanner(
    { delimiter, emailColumn: -1, recordBytes, columns, ...place },
    (start, end) => {
      if (starts.length === sampleRows) {
        isCut = true;
        return;
      }
      starts.push(start);
      ends.push(end);
    },
  );
  const problem = scanner.push(bytes) ?? (whole ? scanner.end() : undefined);
  const end = ends.at(-1) ?? place.firstByte;
  const records = parseRecords(bytes.subarray(0, end - place.firstByte), delimiter);
  return { delimiter, records, starts, ends, complete: !isCut, problem, openQuote: scanner.openQuote() };
}

/**
 * The delimiter by which the records look most like a table: as many as can be have the same number of columns, more
 * than one, and one of the columns holds addresses. Without any, it is a list of one column; but not where a delimiter makes
 * more columns of the first record than there may be, and no other finds addresses.
 */
export function detectDelimiter(text: SampleText): Sample {
  const samples = CANDIDATES.map((delimiter) => takeSample(text, delimiter));
  let best = samples[0] as Sample;
  let bestScore = score(best);
  for (const sample of samples.slice(1)) {
    const own = score(sample);
    if (own.sum > bestScore.sum || (own.sum === bestScore.sum && own.width > bestScore.width)) {
      best = sample;
      bestScore = own;
    }
  }
  if (isNamed(best) || addressShare(best.records) > 0) return best;
  return samples.find(isTooWide) ?? best;
}

/** A header stands in one of so many records, of so many cells together. */
const HEADER_RECORDS = 5;
const HEADER_CELLS = 500;

/** One of the first records names a column of addresses. */
function isNamed({ records }: Sample): boolean {
  return records.slice(0, HEADER_RECORDS).flat().slice(0, HEADER_CELLS).some(namesAddresses);
}

function isTooWide({ records, problem }: Sample): boolean {
  return records.length === 0 && problem?.code === "too_many_columns";
}

function score(sample: Sample): { sum: number; width: number } {
  const { records } = sample;
  if (records.length === 0) return { sum: -1, width: 0 };
  const widths = new Map<number, number>();
  for (const { length } of records) widths.set(length, (widths.get(length) ?? 0) + 1);
  const [width, count] = [...widths].reduce((most, next) => (next[1] > most[1] ? next : most));
  const consistency = width > 1 ? count / records.length : 0.5;
  const named = isNamed(sample) ? 0.5 : 0;
  return { sum: consistency + 2 * addressShare(records) + named, width };
}

/** Of the records, how many have what looks like an address in the column that has most of them. */
function addressShare(records: readonly string[][]): number {
  const counts: number[] = [];
  for (const record of records) {
    for (let i = 0; i < record.length; i += 1) {
      const weight = addressWeight(record[i] as string);
      if (weight > 0) counts[i] = (counts[i] ?? 0) + weight;
    }
  }
  return Math.max(0, ...counts.filter((count) => count > 0)) / records.length;
}
