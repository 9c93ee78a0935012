import { LIMITS } from "../core/limits.ts";
import { addressOf } from "../services/bulk/csv/cell-address.ts";
import { createRecordScanner } from "../services/bulk/csv/scan.ts";
import { type ValuePlace, valueAt } from "../services/bulk/csv/value-place.ts";
import { type ChunkRepeats, decodeChunkRepeats } from "../services/bulk/repeats.ts";
import { type RowsBytesDeps, readRowsBytes } from "../services/bulk/rows-bytes.ts";
import { type JobObjects, repeatsKey } from "../store/job-objects.ts";
import type { ChunkTask, RetryTask } from "../store/job-tasks.ts";
import { rowsOfSet } from "./deferrals.ts";

/** A row of a task with an address of its own: it repeats no other. */
export interface OwnRow {
  /** In the chunk, from 0. */
  offset: number;
  /** As it was given, without what stands round it (csv/cell-address.ts). */
  email: string;
  /** Rows of the job that copy what it comes to. */
  copies: number;
}

export interface ChunkRowsDeps extends RowsBytesDeps {
  objects: Pick<JobObjects, "getRange">;
}

type RowsTask = ChunkTask | RetryTask;

/** @throws MissingObject */
async function readRepeats(
  { objects }: ChunkRowsDeps,
  task: RowsTask,
  signal: AbortSignal,
): Promise<ChunkRepeats> {
  const { teamId, jobId, repeatsByte, repeatsBytes } = task;
  if (repeatsBytes === 0) return decodeChunkRepeats(new Uint8Array());
  const range = { firstByte: repeatsByte, bytes: repeatsBytes };
  return decodeChunkRepeats(await objects.getRange(repeatsKey(teamId, jobId), range, signal));
}

/**
 * The rows of a task that are to be verified, in order, and all of the chunk's bytes.
 * @throws SourceLost, MissingObject; Error when the source does not hold what was analysed
 */
export async function readOwnRows(
  deps: ChunkRowsDeps,
  task: RowsTask,
  signal: AbortSignal,
): Promise<{ rows: OwnRow[]; bytes: Buffer }> {
  const [bytes, repeats] = await Promise.all([
    readRowsBytes(deps, task, { firstByte: task.firstByte, bytes: task.bytes }, signal),
    readRepeats(deps, task, signal),
  ]);
  const rows = task.kind === "retry" ? rowsOfRetry(bytes, task, repeats) : rowsOfChunk(bytes, task, repeats);
  return { rows, bytes };
}

function rowsOfChunk(bytes: Buffer, task: ChunkTask, { sameAs, copies }: ChunkRepeats): OwnRow[] {
  const rows: OwnRow[] = [];
  readCells(bytes, task, (offset, cell) => {
    if (sameAs.size > 0 && sameAs.has(offset)) return;
    const repeated = copies.size === 0 ? 0 : (copies.get(offset) ?? 0);
    rows.push({ offset, email: addressOf(valueAt(cell)), copies: repeated });
  });
  return rows;
}

function rowsOfRetry(bytes: Buffer, task: RetryTask, { sameAs, copies }: ChunkRepeats): OwnRow[] {
  const cells: string[] = [];
  readCells(bytes, task, (_offset, cell) => {
    cells.push(valueAt(cell));
  });
  const rows: OwnRow[] = [];
  for (const offset of rowsOfSet(task.rowSet)) {
    const cell = cells[offset];
    if (cell === undefined) throw new Error(`a chunk of ${task.rows} rows has no row ${offset}`);
    if (!sameAs.has(offset)) rows.push({ offset, email: addressOf(cell), copies: copies.get(offset) ?? 0 });
  }
  return rows;
}

/** Tells of the address's cell of each row, as the analysis has read it: by the scanner, which looks at no other. */
function readCells(bytes: Buffer, task: RowsTask, told: (offset: number, cell: ValuePlace) => void): void {
  const { delimiter, emailColumn } = task.layout;
  const { recordBytes, columns } = LIMITS.bulk;
  let rows = 0;
  const scanner = createRecordScanner(
    { delimiter, emailColumn, recordBytes, columns },
    (_start, _end, _columns, cell) => told(rows++, cell),
  );
  const broken = scanner.push(bytes) ?? scanner.end();
  if (broken !== undefined) throw new Error(`a chunk cannot be read: ${broken.detail}`);
  if (rows !== task.rows) throw new Error(`a chunk of ${task.rows} rows holds ${rows}`);
}
