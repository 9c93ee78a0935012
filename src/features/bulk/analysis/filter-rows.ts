import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Verdict } from "../../../verification/verdict/table.ts";
import { dialectOfResults } from "../csv/dialect.ts";
import { createRecordScanner } from "../csv/scan.ts";
import { valueAt } from "../csv/value-place.ts";
import type { JobMaterial } from "../results/job-results.ts";
import type { Format } from "../results/result-rows.ts";
import { keepVerdict, splitValues } from "../split/joined-cells.ts";

/** Tells of each row of assembled results: where it ends in what was pushed so far, and whether anything of it is wanted. */
type RowScanner = { push(bytes: Buffer): void; end(): void };
type OnRow = (end: number, isWanted: boolean) => void;

function csvScanner({ layout }: JobMaterial, verdict: Verdict, onRow: OnRow): RowScanner {
  const { columns, bom } = layout;
  const isSplit = layout.split !== undefined;
  let isHeader = true;
  let skipped = bom ? BOM_BYTES : 0;
  const bounds = { recordBytes: LIMITS.results.resultRowBytes, columns: LIMITS.bulk.columns + 100 };
  // The first of our columns, behind those of the source.
  const options = { ...dialectOfResults(layout), emailColumn: columns, firstByte: skipped, ...bounds };
  const scanner = createRecordScanner(options, (_start, end, _columns, value) => {
    const cell = valueAt(value);
    onRow(end, isHeader || cell === verdict || (isSplit && splitValues(cell).includes(verdict)));
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

/** A wanted row without those of its parts that are not: what was split in the analysis (split/splitter.ts) is filtered so, too. */
type Narrow = (row: Buffer) => Buffer;

function csvNarrowing({ layout }: JobMaterial, verdict: Verdict): Narrow {
  const dialect = dialectOfResults(layout);
  let isHeader = true;
  return (row) => {
    const isFirst = isHeader;
    isHeader = false;
    // It may begin with a byte order mark.
    if (isFirst) return row;
    const line = row.toString("latin1", 0, row.length - CSV_END.length);
    return Buffer.from(keepVerdict(line, layout.columns, verdict, dialect) + CSV_END, "latin1");
  };
}

function jsonlNarrowing(verdict: Verdict): Narrow {
  return (row) => {
    const line = JSON.parse(row.toString()) as { parts?: { verdict: Verdict }[] };
    if (line.parts === undefined) return row;
    const parts = line.parts.filter((part) => part.verdict === verdict);
    return Buffer.from(`${JSON.stringify({ ...line, parts })}\n`);
  };
}

function narrowing(format: Format, job: JobMaterial, verdict: Verdict): Narrow {
  if (job.layout.split === undefined) return (row) => row;
  return format === "csv" ? csvNarrowing(job, verdict) : jsonlNarrowing(verdict);
}

const BOM_BYTES = 3;
const CSV_END = "\r\n";
const LINE_END = 0x0a;

function jsonlScanner(verdict: Verdict, onRow: OnRow): RowScanner {
  // Within a string its quotes would be escaped, and no other object of a line has this member.
  const member = Buffer.from(`"verdict":"${verdict}"`);
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
        onRow(pushed + end + 1, line.includes(member));
        from = end + 1;
      }
      if (from < bytes.length) kept.push(bytes.subarray(from));
      pushed += bytes.length;
    },
    end() {},
  };
}

/**
 * The rows of assembled results that have a verdict, and the header of a CSV, as they stand there; of rows with several
 * addresses (split/splitter.ts) what has that verdict. Memory: a piece and the
 * longest row. Between pieces the event loop has a turn.
 * @throws Error when they are no assembled results; what `pieces` throws
 */
export async function* filterRows(
  pieces: AsyncIterable<Buffer>,
  format: Format,
  verdict: Verdict,
  job: JobMaterial,
): AsyncGenerator<Buffer> {
  /** What is not told of yet, and where it begins. */
  let rest: Buffer = Buffer.alloc(0);
  let restAt = 0;
  let wanted: Buffer[] = [];
  const narrow = narrowing(format, job, verdict);
  const onRow: OnRow = (end, isWanted) => {
    const length = end - restAt;
    if (isWanted) wanted.push(narrow(rest.subarray(0, length)));
    rest = rest.subarray(length);
    restAt = end;
  };
  const scanner = format === "csv" ? csvScanner(job, verdict, onRow) : jsonlScanner(verdict, onRow);
  for await (const piece of pieces) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (rest.length > LIMITS.results.resultRowBytes + piece.length)
      throw new Error("a row of assembled results has no end");
    scanner.push(piece);
    if (wanted.length > 0) yield Buffer.concat(wanted);
    wanted = [];
    await turn();
  }
  scanner.end();
  if (wanted.length > 0) yield Buffer.concat(wanted);
}
