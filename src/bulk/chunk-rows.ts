import { toText, toUtf8 } from "../services/bulk/csv/field.ts";
import { createRecordScanner } from "../services/bulk/csv/scan.ts";
import { type ValuePlace, valueAt } from "../services/bulk/csv/value-place.ts";
import type { ChunkRepeats } from "../services/bulk/repeats.ts";
import { readSourceRows, type SourceRowsDeps } from "../services/bulk/source-rows.ts";
import { readRepeats } from "../services/bulk/spans.ts";
import { recordBounds } from "../services/bulk/split/splitter.ts";
import type { JobObjects } from "../store/job-objects.ts";
import type { ChunkTask, RetryTask } from "../store/job-tasks.ts";
import { offsetsOfRowSet } from "./deferrals.ts";

/** A row of a task with an address of its own: it repeats no other. */
export interface DistinctRow {
  /** In the chunk, from 0. */
  offset: number;
  /** The text of its cell, out of which the address is read. */
  email: string;
}

export interface ChunkRowsDeps extends SourceRowsDeps {
  objects: Pick<JobObjects, "getRange">;
}

type RowsTask = ChunkTask | RetryTask;

/** @returns the text of the cell; null: nobody need be told of the row */
export type CellReader = (offset: number, cell: ValuePlace) => string | null;

/** The rows of a task that are to be verified: those of its chunk, or of its retry, that repeat no other. */
export interface TaskRows {
  /** By offset, how many rows of the job copy it: of the task's rows, and maybe of others of the chunk. */
  readonly copies: ReadonlyMap<number, number>;
  /**
   * Tells of each, in order; by itself, since most are answered as they are read, and need not be kept.
   * @param read is shown each that stands in bytes; absent: all are read
   * @throws Error when the source does not hold what was analysed
   */
  forEachDistinct(onRow: (offset: number, email: string) => void, read?: CellReader): void;
}

/** @throws SourceLost, MissingObject */
export async function readTaskRows(
  deps: ChunkRowsDeps,
  task: RowsTask,
  signal: AbortSignal,
): Promise<TaskRows> {
  const [bytes, [repeats]] = await Promise.all([
    readSourceRows(deps, task, { firstByte: task.firstByte, bytes: task.bytes }, signal),
    readRepeats(deps.objects, task, [task], signal),
  ]);
  const { sameAs, copies } = repeats as ChunkRepeats;
  const each: TaskRows["forEachDistinct"] = (onRow, read = (_, cell) => toText(valueAt(cell))) => {
    const passDistinct = (offset: number, cell: ValuePlace) => {
      const email = sameAs.size === 0 || !sameAs.has(offset) ? read(offset, cell) : null;
      if (email !== null) onRow(offset, email);
    };
    if (task.kind === "chunk") readCells(bytes, task, passDistinct);
    else forEachRetryRow(bytes, task, passDistinct);
  };
  return { copies, forEachDistinct: each };
}

/** Those of which is to be told, in order. */
export function collectDistinctRows({ forEachDistinct: each }: TaskRows, read?: CellReader): DistinctRow[] {
  const rows: DistinctRow[] = [];
  each((offset, email) => rows.push({ offset, email }), read);
  return rows;
}

/** Others of the chunk are passed over as bytes: there may be fifty times as many. */
function forEachRetryRow(
  bytes: Buffer,
  task: RetryTask,
  onCell: (offset: number, cell: ValuePlace) => void,
): void {
  const { rowSet, rows } = task;
  const last = offsetsOfRowSet(rowSet).at(-1) ?? 0;
  if (last >= rows) throw new Error(`a chunk of ${rows} rows has no row ${last}`);
  readCells(bytes, task, (offset, cell) => {
    if (((rowSet[offset >> 3] ?? 0) >> (offset & 7)) & 1) onCell(offset, cell);
  });
}

/** Who reads a cell is not told the list's encoding. */
function toUtf8Cell(cell: ValuePlace, encoding: string | undefined): ValuePlace {
  if (encoding === undefined) return cell;
  const bytes = Buffer.from(toUtf8(valueAt(cell), encoding), "latin1");
  return { bytes, from: 0, to: bytes.length };
}

/** Tells of the address's cell of each row, as the analysis has read it: by the scanner, which looks at no other. */
function readCells(bytes: Buffer, task: RowsTask, onCell: (offset: number, cell: ValuePlace) => void): void {
  let rows = 0;
  const scanner = createRecordScanner(
    { ...task.layout, ...recordBounds(task.layout) },
    (_start, _end, _columns, cell) => onCell(rows++, toUtf8Cell(cell, task.layout.encoding)),
  );
  const broken = scanner.push(bytes) ?? scanner.end();
  if (broken !== undefined) throw new Error(`a chunk cannot be read: ${broken.detail}`);
  if (rows !== task.rows) throw new Error(`a chunk of ${task.rows} rows holds ${rows}`);
}
