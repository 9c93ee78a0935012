import { LIMITS } from "../../../config/limits/limits.ts";
import { dialectOfResults } from "../csv/dialect.ts";
import { createRecordScanner } from "../csv/scan.ts";
import { valueAt } from "../csv/value-place.ts";
import type { JobMaterial } from "../results/job-results.ts";
import type { Format } from "../results/result-rows.ts";
import type { FilteredJson, RowFilter } from "../results/row-filter.ts";
import { keepWanted, splitValues } from "../split/joined-cells.ts";

/**
 * Finds the rows of assembled results in the pushed bytes, and reports the end and kind of each. A `candidate` may be
 * wanted, as far as can be seen without parsing it.
 */
type RowScanner = { push(bytes: Buffer): void; end(): void };
type RowKind = "header" | "candidate" | "unwanted";
type OnRow = (end: number, kind: RowKind) => void;

function csvScanner({ layout }: JobMaterial, { criteria }: RowFilter, onRow: OnRow): RowScanner {
  const { columns, bom } = layout;
  const isSplit = layout.split !== undefined;
  let isHeader = true;
  let skipped = bom ? BOM_BYTES : 0;
  const bounds = { recordBytes: LIMITS.results.resultRowBytes, columns: LIMITS.bulk.columns + 100 };
  const [first] = criteria;
  // Our columns follow those of the source.
  const emailColumn = columns + (first?.column ?? 0);
  const options = { ...dialectOfResults(layout), emailColumn, firstByte: skipped, ...bounds };
  const isCandidate = (cell: string) =>
    first === undefined || cell === first.value || (isSplit && splitValues(cell).includes(first.value));
  const scanner = createRecordScanner(options, (_start, end, _columns, value) => {
    onRow(end, isHeader ? "header" : isCandidate(valueAt(value)) ? "candidate" : "unwanted");
    isHeader = false;
  });
  const check = (problem: { detail: string } | undefined) => {
    if (problem !== undefined) throw new Error(`assembled results cannot be read: ${problem.detail}`);
  };
  return {
    push(bytes) {
      const rest = bytes.subarray(skipped);
      skipped -= bytes.length - rest.length;
      check(scanner.push(rest));
    },
    end: () => check(scanner.end()),
  };
}

/**
 * Removes the unwanted parts of a candidate: rows that the analysis split (split/splitter.ts) are filtered by part. null:
 * the row is unwanted.
 */
type Narrow = (row: Buffer) => Buffer | null;

function csvNarrowing({ layout }: JobMaterial, filter: RowFilter): Narrow {
  const dialect = dialectOfResults(layout);
  const isSplit = layout.split !== undefined;
  const isWanted = (cells: readonly string[]) => filter.wantsCells(cells);
  return (row) => {
    const line = row.toString("latin1", 0, row.length - CSV_END.length);
    const kept = keepWanted(line, layout.columns, isWanted, dialect, isSplit);
    return kept === null ? null : kept === line ? row : Buffer.from(kept + CSV_END, "latin1");
  };
}

function jsonlNarrowing(filter: RowFilter): Narrow {
  return (row) => {
    // As latin1: columns that are not parsed are written unchanged.
    const line = JSON.parse(row.toString("latin1")) as { parts?: FilteredJson[] };
    if (line.parts === undefined) return row;
    const parts = line.parts.filter((part) => filter.wantsJson(part));
    return parts.length === 0 ? null : Buffer.from(`${JSON.stringify({ ...line, parts })}\n`, "latin1");
  };
}

function narrowing(format: Format, job: JobMaterial, filter: RowFilter): Narrow {
  const isSplit = job.layout.split !== undefined;
  // In JSON lines, and in CSV with one criterion, the scanner's check is complete.
  const isSeen = !isSplit && (format === "jsonl" || filter.criteria.length < 2);
  if (isSeen || filter.criteria.length === 0) return (row) => row;
  return format === "csv" ? csvNarrowing(job, filter) : jsonlNarrowing(filter);
}

const BOM_BYTES = 3;
const CSV_END = "\r\n";
const LINE_END = 0x0a;

function jsonlScanner(filter: RowFilter, onRow: OnRow): RowScanner {
  let kept: Buffer[] = [];
  let pushed = 0;
  return {
    push(bytes) {
      let from = 0;
      for (;;) {
        const end = bytes.indexOf(LINE_END, from);
        if (end < 0) break;
        const rest = bytes.subarray(from, end);
        const line = kept.length === 0 ? rest : Buffer.concat([...kept, rest]);
        kept = [];
        // A line can have several parts, of which one must meet all criteria. That is checked later.
        onRow(pushed + end + 1, filter.wantsLine(line) ? "candidate" : "unwanted");
        from = end + 1;
      }
      if (from < bytes.length) kept.push(bytes.subarray(from));
      pushed += bytes.length;
    },
    end() {},
  };
}

/** The selection of assembled results. */
export interface FilteredRows {
  format: Format;
  filter: RowFilter;
  /** Maximum number of rows; null: all. */
  limit: number | null;
}

/**
 * Yields the wanted rows of assembled results, and the header of a CSV, byte for byte. Of a row with several addresses
 * (split/splitter.ts) it keeps the wanted ones. Memory: a piece and the longest row. After the last possible row no piece is
 * read.
 * @param inTurn runs the work on a piece, up to a millisecond, when it is its turn
 * @throws Error when the bytes are not assembled results; errors of `pieces`
 */
export async function* filterRows(
  pieces: AsyncIterable<Buffer>,
  { format, filter, limit }: FilteredRows,
  job: JobMaterial,
  inTurn: (work: () => void) => Promise<void>,
): AsyncGenerator<Buffer> {
  /** Bytes whose row has not ended yet, and where they begin. */
  let rest: Buffer = Buffer.alloc(0);
  let restAt = 0;
  let wanted: Buffer[] = [];
  let left = limit ?? Number.POSITIVE_INFINITY;
  const narrow = narrowing(format, job, filter);
  const onRow: OnRow = (end, kind) => {
    const length = end - restAt;
    if (kind !== "unwanted" && left > 0) {
      const row = rest.subarray(0, length);
      const kept = kind === "header" ? row : narrow(row);
      if (kept !== null) wanted.push(kept);
      if (kept !== null && kind === "candidate") left -= 1;
    }
    rest = rest.subarray(length);
    restAt = end;
  };
  const scanner = format === "csv" ? csvScanner(job, filter, onRow) : jsonlScanner(filter, onRow);
  const take = (piece: Buffer) => {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (rest.length > LIMITS.results.resultRowBytes + piece.length)
      throw new Error("a row of assembled results has no end");
    scanner.push(piece);
  };
  for await (const piece of pieces) {
    await inTurn(() => take(piece));
    if (wanted.length > 0) yield Buffer.concat(wanted);
    if (left === 0) return;
    wanted = [];
  }
  scanner.end();
  if (wanted.length > 0) yield Buffer.concat(wanted);
}
