import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { TickBudget } from "../../../platform/time/tick-budget.ts";
import type { Scratch } from "../../../stores/scratch.ts";
import { RowBuffer } from "../analysis/row-buffer.ts";
import {
  type LoadedChunk,
  type LoadedSpan,
  loadSpan,
  type SpanDeps,
  type SpanSizes,
  spansOf,
} from "../analysis/spans.ts";
import type { Lines } from "../csv/lines.ts";
import { readMark } from "../split/mark.ts";
import { type CopiedResults, type CopiedSizes, createCopiedResults } from "./copied-results.ts";
import type { JobMaterial } from "./job-results.ts";
import type { RowResult } from "./result-cells.ts";
import { StoredResult, VERDICTS } from "./shard.ts";

/** Memory of a join: LIMITS.results and LIMITS.bulk.copies describe each size. */
export interface JoinSizes extends SpanSizes {
  spansAhead: number;
  copies: CopiedSizes;
}

export interface JoinDeps extends SpanDeps {
  clock: Pick<Clock, "monotonic">;
  scratch: Scratch;
  /** Default: those of an assembly. */
  sizes?: JoinSizes;
}

const ASSEMBLY: JoinSizes = { ...LIMITS.results, copies: LIMITS.bulk.copies };

/** A row of the results; of a list whose cells were split, one address of a row. */
export interface JoinedRow {
  /** Row number in the list, from 0. */
  row: number;
  /** The source's lines, in which `lineAt` finds this row by `offset`. */
  lines: Lines;
  offset: number;
  /** The row, counted from 0, whose result this one copies; null: this is its own. */
  duplicateOf: number | null;
  result: RowResult;
}

/** The result that a row copies, and whose it is in the list. */
type FoundResult = Pick<JoinedRow, "duplicateOf" | "result">;

function storedCopy(copied: CopiedResults, row: number): FoundResult | undefined {
  const found = copied.find(row);
  const verdict = found === undefined ? undefined : VERDICTS[found.verdict];
  if (found === undefined || verdict === undefined) return undefined;
  const { listRow, bytes, csvBytes } = found;
  const result = new StoredResult(verdict, bytes, 0, csvBytes, bytes.length);
  return { duplicateOf: listRow, result };
}

function ownResult({ results }: LoadedChunk, offset: number): FoundResult | undefined {
  const result = results.get(offset);
  return result === undefined ? undefined : { duplicateOf: null, result };
}

/** Approximate size of a result: a buffer that is too small grows. */
const RESULT_BYTES = 1_024;

/** Saves results that rows copy later; @returns what to wait for, as `CopiedResults` has it */
type SaveForCopies = (row: number, listRow: number, result: JoinedRow["result"]) => Promise<void> | null;

function saverInto(copied: CopiedResults): SaveForCopies {
  // One buffer for all: a caller that waits for a result to be saved is done with its bytes.
  const written = new RowBuffer(RESULT_BYTES);
  return (row, listRow, result) => {
    const verdict = VERDICTS.indexOf(result.verdict);
    const csvBytes = result.writeBoth(written);
    return copied.append(row, { listRow, verdict, bytes: written.take(), csvBytes });
  };
}

/** The results that rows copy, and the time in which they may be looked up without a break: look-ups read from disk. */
interface JoinState {
  copied: CopiedResults;
  save: SaveForCopies;
  tick: TickBudget;
}

async function isAnyCopyAnswered(
  { repeats: { sameAs } }: LoadedChunk,
  { copied, tick }: JoinState,
): Promise<boolean> {
  for (const first of sameAs.values()) {
    if (copied.find(first) !== undefined) return true;
    if (tick.isSpent) await tick.renew();
  }
  return false;
}

/**
 * The rows of a chunk that have a result, in parts of LIMITS.bulk.rowsPerTick at most; saves the results that are copied later.
 * A tick ends with a part, or when its look-ups have taken LIMITS.bulk.copyTickMs.
 */
async function* joinChunk(
  { delimiter, split }: JobMaterial["layout"],
  chunk: LoadedChunk,
  { copied, save, tick }: JoinState,
): AsyncGenerator<JoinedRow[]> {
  const { firstRow, repeats } = chunk;
  let rows: JoinedRow[] = [];
  const lines = chunk.lines();
  for (let offset = 0; offset < lines.count; offset++) {
    const sourceRow = firstRow + offset;
    const copiedRow = repeats.sameAs.get(offset);
    if (copiedRow !== undefined && tick.isSpent) {
      if (rows.length > 0) yield rows;
      rows = [];
      await tick.renew();
    }
    const found = copiedRow === undefined ? ownResult(chunk, offset) : storedCopy(copied, copiedRow);
    if (found === undefined) continue;
    const { duplicateOf, result } = found;
    const from = lines.from[offset] as number;
    const row = split === undefined ? sourceRow : readMark(lines.bytes, from, delimiter).row;
    const saving = repeats.copies.has(offset) ? save(sourceRow, row, result) : null;
    if (saving !== null) await saving;
    rows.push({ row, lines, offset, duplicateOf, result });
    if (rows.length < LIMITS.bulk.rowsPerTick) continue;
    yield rows;
    rows = [];
    await tick.renew();
  }
  if (rows.length > 0) yield rows;
}

async function* joinSpan(
  layout: JobMaterial["layout"],
  span: LoadedSpan,
  state: JoinState,
): AsyncGenerator<JoinedRow[]> {
  for (const chunk of span.chunks) {
    if (chunk.results.size === 0 && !(await isAnyCopyAnswered(chunk, state))) continue;
    if (!span.hasBytes) await span.readBytes();
    yield* joinChunk(layout, chunk, state);
  }
}

/** The spans of a job, in order. While one is joined, the next `spansAhead` are being loaded. */
async function* loadAhead(
  deps: JoinDeps,
  job: JobMaterial,
  sizes: JoinSizes,
  signal: AbortSignal,
): AsyncGenerator<LoadedSpan> {
  const ahead: Promise<LoadedSpan>[] = [];
  for await (const chunks of spansOf(deps, job, sizes)) {
    const loading = loadSpan(deps, job, chunks, signal);
    // The error is thrown in the order of the spans. A reader that stops earlier ignores it.
    loading.catch(() => undefined);
    ahead.push(loading);
    if (ahead.length > sizes.spansAhead) yield await (ahead.shift() as Promise<LoadedSpan>);
  }
  for (const loading of ahead) yield await loading;
}

/**
 * The answered rows of a job, in input order: those with a result of their own, and those that copy one of them, in any
 * chunk. Their number is the job's count, for each verdict. Memory: `spansAhead` + 1 spans with their shards, and the
 * results in `CopiedResults`. Other work runs between parts.
 * @throws SourceLost; MissingObject; ObjectsOutage; ScratchFull; the reason of `signal`; Error when an object differs from
 *   the one written
 */
export async function* readJoined(
  deps: JoinDeps,
  job: JobMaterial,
  signal: AbortSignal,
): AsyncGenerator<JoinedRow[]> {
  const { scratch, sizes = ASSEMBLY } = deps;
  const copied = createCopiedResults(scratch, sizes.copies);
  const state = { copied, save: saverInto(copied), tick: new TickBudget(deps.clock, LIMITS.bulk.copyTickMs) };
  const reading = new AbortController();
  try {
    for await (const span of loadAhead(deps, job, sizes, AbortSignal.any([signal, reading.signal])))
      for await (const rows of joinSpan(job.layout, span, state)) {
        signal.throwIfAborted();
        yield rows;
      }
  } finally {
    reading.abort();
    await copied.close();
  }
}
