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
import type { ChunkOfResults } from "../schedule/job-tasks.ts";
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

/** Notes results that rows copy later; @returns what to wait for, as `CopiedResults` has it */
type NoteCopied = (row: number, listRow: number, result: JoinedRow["result"]) => Promise<void> | null;

function noteIn(copied: CopiedResults): NoteCopied {
  // One buffer for all notes: a caller that waits for a note to be taken is done with its bytes.
  const written = new RowBuffer(RESULT_BYTES);
  return (row, listRow, result) => {
    const verdict = VERDICTS.indexOf(result.verdict);
    const csvBytes = result.writeBoth(written);
    return copied.append(row, { listRow, verdict, bytes: written.take(), csvBytes });
  };
}

/** The results that rows copy, and the time in which they may be looked up without a break: look-ups read from disk. */
interface Copies {
  copied: CopiedResults;
  note: NoteCopied;
  tick: TickBudget;
}

async function isAnyAnswered(
  { repeats: { sameAs } }: LoadedChunk,
  { copied, tick }: Copies,
): Promise<boolean> {
  for (const first of sameAs.values()) {
    if (copied.find(first) !== undefined) return true;
    if (tick.isSpent) await tick.renew();
  }
  return false;
}

/**
 * The rows of a chunk that have a result, in parts of LIMITS.bulk.rowsPerTurn at most; notes the results that are copied later.
 * A tick ends with a part, or when its look-ups have taken LIMITS.bulk.copyTurnMs.
 */
async function* joinChunk(
  { delimiter, split }: JobMaterial["layout"],
  chunk: LoadedChunk,
  { copied, note, tick }: Copies,
): AsyncGenerator<JoinedRow[]> {
  const { firstRow, repeats } = chunk;
  let rows: JoinedRow[] = [];
  const lines = chunk.lines();
  for (let offset = 0; offset < lines.count; offset++) {
    const place = firstRow + offset;
    const same = repeats.sameAs.get(offset);
    if (same !== undefined && tick.isSpent) {
      if (rows.length > 0) yield rows;
      rows = [];
      await tick.renew();
    }
    const found = same === undefined ? ownResult(chunk, offset) : storedCopy(copied, same);
    if (found === undefined) continue;
    const { duplicateOf, result } = found;
    const from = lines.from[offset] as number;
    const row = split === undefined ? place : readMark(lines.bytes, from, delimiter).row;
    const noted = repeats.copies.has(offset) ? note(place, row, result) : null;
    if (noted !== null) await noted;
    rows.push({ row, lines, offset, duplicateOf, result });
    if (rows.length < LIMITS.bulk.rowsPerTurn) continue;
    yield rows;
    rows = [];
    await tick.renew();
  }
  if (rows.length > 0) yield rows;
}

async function* joinSpan(
  layout: JobMaterial["layout"],
  span: LoadedSpan,
  copies: Copies,
): AsyncGenerator<JoinedRow[]> {
  for (const chunk of span.chunks) {
    if (chunk.results.size === 0 && !(await isAnyAnswered(chunk, copies))) continue;
    if (!span.hasBytes) await span.readBytes();
    yield* joinChunk(layout, chunk, copies);
  }
}

/**
 * The spans of a job, in order, `spansAhead` of them being read before they are asked for. When a span is ready to join, it
 * is yielded without waiting for chunks that are still to come.
 */
async function* loadAhead(
  deps: JoinDeps,
  job: JobMaterial,
  sizes: JoinSizes,
  signal: AbortSignal,
): AsyncGenerator<LoadedSpan> {
  const spans = spansOf(deps, job, sizes);
  const ahead: Promise<LoadedSpan>[] = [];
  let coming: Promise<IteratorResult<ChunkOfResults[], void>> | null = null;
  let ended = false;
  for (;;) {
    while (ahead.length <= sizes.spansAhead && !ended) {
      coming ??= spans.next();
      const found = await (ahead[0] === undefined
        ? coming
        : Promise.race([coming, ahead[0].then(() => null)]));
      if (found === null) break;
      coming = null;
      ended = found.done === true;
      if (found.done === true) break;
      const loading = loadSpan(deps, job, found.value, signal);
      // The error is thrown in the order of the spans. A reader that stops earlier ignores it.
      loading.catch(() => undefined);
      ahead.push(loading);
    }
    const next = ahead.shift();
    if (next === undefined) return;
    yield await next;
  }
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
  const copies = { copied, note: noteIn(copied), tick: new TickBudget(deps.clock, LIMITS.bulk.copyTurnMs) };
  const reading = new AbortController();
  try {
    for await (const span of loadAhead(deps, job, sizes, AbortSignal.any([signal, reading.signal])))
      for await (const rows of joinSpan(job.layout, span, copies)) {
        signal.throwIfAborted();
        yield rows;
      }
  } finally {
    reading.abort();
    await copied.close();
  }
}
