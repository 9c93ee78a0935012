import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import { addressWeight } from "../columns/column-evidence.ts";
import { namesAddresses } from "../columns/header-meaning.ts";
import type { Dialect } from "./dialect.ts";
import { parseRecords } from "./parse.ts";
import type { CsvProblem } from "./problems.ts";
import { createRecordScanner } from "./scan.ts";
import { quoteJudge, type TableShape } from "./suspicion.ts";

const CANDIDATES = [",", ";", "\t", "|"] as const;

/** The first records of a list, read in one dialect. */
export interface Sample {
  dialect: Dialect;
  shape: TableShape;
  /** No more than LIMITS.bulk.sampleRows. */
  records: string[][];
  /** Start and end of each record, as bytes of the text. */
  starts: number[];
  ends: number[];
  /** The records are all that there are. */
  complete: boolean;
  /** The problem that ends the list within the sample. */
  problem: CsvProblem | undefined;
  /** The first of its quotes that are not to be believed. */
  suspicion: CsvProblem | undefined;
  /** Position in the text of the quote that is still open at the end of the sample. */
  openQuote: number | undefined;
}

/** The first bytes of a list. */
export interface SampleText {
  bytes: Buffer;
  /** True when these are all bytes of the text. */
  whole: boolean;
  /** Position of the first byte in the text. */
  firstByte: number;
  /** Name of the first record, and the unit of byte positions, for details: see `ScanOptions`. */
  firstRow: string;
  bytesOf: string;
}

/** Reads the records that end within the bytes; of a whole text also the last, which may have no end. */
export function takeSample(text: SampleText, dialect: Dialect): Sample {
  const { bytes, whole, ...place } = text;
  const { recordBytes, columns, sampleRows } = LIMITS.bulk;
  const starts: number[] = [];
  const ends: number[] = [];
  let isCut = !whole;
  const scanner = createRecordScanner(
    { ...dialect, emailColumn: -1, recordBytes, columns, ...place },
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
  const records = parseRecords(bytes.subarray(0, end - place.firstByte), dialect);
  const shape = shapeOf(records);
  const suspicion = findSuspicion(text, dialect, shape);
  const found = { problem, suspicion, openQuote: scanner.openQuote() };
  return { dialect, shape, records, starts, ends, complete: !isCut, ...found };
}

/** Looks at all records of the sample, and at the one that it ends in. */
export function findSuspicion(text: SampleText, dialect: Dialect, shape: TableShape): CsvProblem | undefined {
  const { bytes, whole, ...place } = text;
  if (dialect.escapedBy === undefined && (dialect.quotes === "text" || !bytes.includes('"')))
    return undefined;
  const { recordBytes, columns } = LIMITS.bulk;
  const options = { ...dialect, emailColumn: -1, recordBytes, columns, ...place };
  const scanner = createRecordScanner({ ...options, judge: quoteJudge(dialect, shape) }, () => {});
  const problem = scanner.push(bytes) ?? (whole ? scanner.end() : scanner.judgeOpen());
  return problem?.code === "suspicious_quote" ? problem : undefined;
}

/** Minimum share of addresses among the filled fields of an address column. */
const ADDRESS_COLUMN_SHARE = 0.25;
/** Fields commonly begin with a space where more than this share of the records has one that does. */
const SPACED_SHARE = 0.1;

function shapeOf(records: readonly string[][]): TableShape {
  const filled: number[] = [];
  const addresses: number[] = [];
  let spaced = 0;
  for (const record of records) {
    if (record.some((field, i) => i > 0 && field.startsWith(" "))) spaced += 1;
    for (const [i, field] of record.entries()) {
      if (field.trim() !== "") filled[i] = (filled[i] ?? 0) + 1;
      if (addressWeight(field) > 0) addresses[i] = (addresses[i] ?? 0) + 1;
    }
  }
  const isOfAddresses = (_: unknown, i: number) =>
    (addresses[i] ?? 0) >= ADDRESS_COLUMN_SHARE * (filled[i] ?? Number.POSITIVE_INFINITY);
  const addressColumns = [...filled.keys()].filter(isOfAddresses);
  return {
    width: usualWidth(records).width,
    addressColumns,
    isSpaced: spaced > SPACED_SHARE * records.length,
  };
}

/** The number of fields that most records have. */
function usualWidth(records: readonly string[][]): { width: number; count: number } {
  const widths = new Map<number, number>();
  for (const { length } of records) widths.set(length, (widths.get(length) ?? 0) + 1);
  const [width, count] = [...widths].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0]);
  return { width, count };
}

/** True when it has an address column. The only column must consist mostly of addresses. */
export function isAddressTable({ records, shape }: Pick<Sample, "records" | "shape">): boolean {
  return shape.width > 1 ? shape.addressColumns.length > 0 : addressShare(records) >= 0.5;
}

/**
 * Detects the delimiter that makes the best table: most records have the same number of columns, more than one, and one
 * column has addresses. Without such a delimiter it is a list of one column. Exception: a delimiter that makes too many
 * columns of the first record, if no other finds addresses.
 */
export async function detectDelimiter(
  text: SampleText,
  quoting: Omit<Dialect, "delimiter">,
): Promise<Sample> {
  const samples: Sample[] = [];
  for (const delimiter of CANDIDATES) {
    await turn();
    samples.push(takeSample(text, { delimiter, ...quoting }));
  }
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

/** The header is searched in this many records, and this many cells in all. */
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
  const { width, count } = usualWidth(records);
  const consistency = width > 1 ? count / records.length : 0.5;
  const named = isNamed(sample) ? 0.5 : 0;
  return { sum: consistency + 2 * addressShare(records) + named, width };
}

/** Records that a delimiter is judged by. With a wrong delimiter a cell is half a record, which takes 0.1 ms to read. */
const SHARE_RECORDS = 150;

/** The share of the first records with an apparent address in the column that has most of them. */
function addressShare(all: readonly string[][]): number {
  const records = all.slice(0, SHARE_RECORDS);
  const counts: number[] = [];
  for (const record of records) {
    for (let i = 0; i < record.length; i += 1) {
      const weight = addressWeight(record[i] as string);
      if (weight > 0) counts[i] = (counts[i] ?? 0) + weight;
    }
  }
  return Math.max(0, ...counts.filter((count) => count > 0)) / records.length;
}
