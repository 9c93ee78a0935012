import { LIMITS } from "../../../core/limits.ts";
import { addressWeight, namesAddresses } from "./address-column.ts";
import { parseRecords } from "./parse.ts";
import type { CsvProblem } from "./problems.ts";
import { createRecordScanner } from "./scan.ts";

const CANDIDATES = [",", ";", "\t", "|"] as const;

/** The first records of a list, by one delimiter. */
export interface Sample {
  delimiter: string;
  /** No more than LIMITS.bulk.sampleRows. */
  records: string[][];
  /** Where the second record begins, or the first ends. */
  afterFirst: number;
  /** What ends the list within the sample. */
  problem: CsvProblem | undefined;
}

/** Reads the records that end within the text; of a `whole` text also the last, which may have no end. */
export function takeSample(text: Buffer, delimiter: string, whole: boolean): Sample {
  const { recordBytes, columns, sampleRows } = LIMITS.bulk;
  let rows = 0;
  let afterFirst = 0;
  let end = 0;
  const scanner = createRecordScanner(
    { delimiter, emailColumn: 0, recordBytes, columns },
    (_start, recordEnd) => {
      rows += 1;
      if (rows === 1) afterFirst = recordEnd;
      if (rows <= sampleRows) end = recordEnd;
    },
  );
  const problem = scanner.push(text) ?? (whole ? scanner.end() : undefined);
  return { delimiter, records: parseRecords(text.subarray(0, end), delimiter), afterFirst, problem };
}

/**
 * The delimiter by which the records look most like a table: as many as can be have the same number of columns, more
 * than one, and one of the columns holds addresses. Without any, it is a list of one column.
 */
export function detectDelimiter(text: Buffer, whole: boolean): Sample {
  const samples = CANDIDATES.map((delimiter) => takeSample(text, delimiter, whole));
  let best = samples[0] as Sample;
  let bestScore = score(best);
  for (const sample of samples.slice(1)) {
    const own = score(sample);
    if (own.sum > bestScore.sum || (own.sum === bestScore.sum && own.width > bestScore.width)) {
      best = sample;
      bestScore = own;
    }
  }
  return best;
}

function score({ records, problem }: Sample): { sum: number; width: number } {
  if (records.length === 0) return { sum: problem?.code === "too_many_columns" ? 0 : -1, width: 0 };
  const widths = new Map<number, number>();
  for (const { length } of records) widths.set(length, (widths.get(length) ?? 0) + 1);
  const [width, count] = [...widths].reduce((most, next) => (next[1] > most[1] ? next : most));
  const consistency = width > 1 ? count / records.length : 0.5;
  const named = records[0]?.some(namesAddresses) ? 0.5 : 0;
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
