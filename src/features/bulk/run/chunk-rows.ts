import type { ChunkRepeats } from "../analysis/repeats.ts";
import { readRepeats } from "../analysis/spans.ts";
import { textIn } from "../csv/field.ts";
import { createRecordScanner } from "../csv/scan.ts";
import { type ValuePlace, valueAt } from "../csv/value-place.ts";
import type { JobObjects } from "../results/job-objects.ts";
import type { ChunkTask, RetryTask } from "../schedule/job-tasks.ts";
import { recordBounds } from "../split/splitter.ts";
import { readSourceRows, type SourceRowsDeps } from "../submit/source-rows.ts";
import { offsetsOfRowSet } from "./deferrals.ts";
import type { DistinctRow } from "./row-verifier.ts";

export interface ChunkRowsDeps extends SourceRowsDeps {
  objects: Pick<JobObjects, "getRange">;
}

type RowsTask = ChunkTask | RetryTask;

/** The rows of a task that are verified: those of its chunk, or of its retry, that repeat no other row. */
export interface TaskRows {
  /** Number of copies by offset, in this task and in other tasks of the job. */
  readonly copies: ReadonlyMap<number, number>;
  /** Rows with an address of their own, in order. */
  readonly distinct: readonly DistinctRow[];
}

/** @throws SourceLost, MissingObject; Error when the source differs from the analysed one */
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
  const { encoding } = task.layout;
  const distinct: DistinctRow[] = [];
  const keep = (offset: number, cell: ValuePlace) => {
    if (!sameAs.has(offset)) distinct.push({ offset, email: textIn(valueAt(cell), encoding) });
  };
  if (task.kind === "chunk") readCells(bytes, task, keep);
  else forEachRetryRow(bytes, task, keep);
  return { copies, distinct };
}

/** No text is made of the other rows of the chunk: there may be fifty times as many. */
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

/** Calls back with the address cell of each row, read by the same scanner as in the analysis. */
function readCells(bytes: Buffer, task: RowsTask, onCell: (offset: number, cell: ValuePlace) => void): void {
  let rows = 0;
  const scanner = createRecordScanner(
    { ...task.layout, ...recordBounds(task.layout) },
    (_start, _end, _columns, cell) => onCell(rows++, cell),
  );
  const broken = scanner.push(bytes) ?? scanner.end();
  if (broken !== undefined) throw new Error(`a chunk cannot be read: ${broken.detail}`);
  if (rows !== task.rows) throw new Error(`a chunk of ${task.rows} rows holds ${rows}`);
}
