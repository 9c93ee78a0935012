import { LIMITS } from "../../../config/limits/limits.ts";
import { findLines, type Lines } from "../csv/lines.ts";
import { type JobObjects, repeatsKey } from "../results/job-objects.ts";
import type { JobMaterial } from "../results/job-results.ts";
import { decodeShard, joinShards, type Shard } from "../results/shard.ts";
import type { ChunkOfResults } from "../schedule/job-tasks.ts";
import { readSourceRows, type SourceRowsDeps } from "../submit/source-rows.ts";
import { type ChunkRepeats, decodeChunkRepeats } from "./repeats.ts";

export interface SpanDeps extends SourceRowsDeps {
  /** Chunks of a job after a number (-1: from the first), in order, at most `limit`; empty: there are no more. */
  chunksOf(jobId: string, after: number, limit: number): Promise<ChunkOfResults[]>;
  objects: Pick<JobObjects, "get" | "getRange">;
}

/** Maximum sizes of one request: LIMITS.results describes each. */
export interface SpanSizes {
  spanChunks: number;
  spanBytes: number;
  /** A span has a chunk at least, however many rows that has. */
  spanRows: number;
}

/** A chunk with all that is known of its rows. */
export interface LoadedChunk {
  firstRow: number;
  repeats: ChunkRepeats;
  results: Shard;
  /** The rows as they are in the source. @throws Error when the source differs from the analysed one */
  lines(): Lines;
}

/** Adjacent chunks with rows for the results. */
export interface LoadedSpan {
  chunks: LoadedChunk[];
  /** True when the bytes of the rows were loaded. */
  hasBytes: boolean;
  /** Reads them. */
  readBytes(): Promise<void>;
}

function isWanted({ shardKey, patches, repeatsBytes }: ChunkOfResults): boolean {
  return shardKey !== null || patches.length > 0 || repeatsBytes > 0;
}

/**
 * The chunks of which there may be results, in order, those side by side together: `spanChunks`, `spanRows`, and
 * about `spanBytes` of their source, at most.
 */
export async function* spansOf(
  { chunksOf }: Pick<SpanDeps, "chunksOf">,
  job: Pick<JobMaterial, "jobId" | "rows">,
  { spanChunks, spanBytes, spanRows }: SpanSizes,
): AsyncGenerator<ChunkOfResults[]> {
  const { chunksPerPage } = LIMITS.results;
  let span: ChunkOfResults[] = [];
  let bytes = 0;
  let rows = 0;
  let after = -1;
  for (;;) {
    const page: ChunkOfResults[] = await chunksOf(job.jobId, after, chunksPerPage);
    for (const chunk of page) {
      const isFull =
        span.length >= spanChunks || bytes + chunk.bytes > spanBytes || rows + chunk.rows > spanRows;
      if (span.length > 0 && (isFull || !isWanted(chunk))) {
        yield span;
        span = [];
        bytes = 0;
        rows = 0;
      }
      if (!isWanted(chunk)) continue;
      span.push(chunk);
      bytes += chunk.bytes;
      rows += chunk.rows;
    }
    const last = page.at(-1);
    if (last === undefined || last.firstRow + last.rows >= job.rows) break;
    after = last.number;
  }
  if (span.length > 0) yield span;
}

/** Start and length of the range that covers all of the chunks' parts of an object. */
function rangeOver(parts: readonly { firstByte: number; bytes: number }[]) {
  const first = parts[0]?.firstByte ?? 0;
  const last = parts.at(-1);
  return { firstByte: first, bytes: last === undefined ? 0 : last.firstByte + last.bytes - first };
}

/** The repeats of adjacent chunks, in their order. @throws MissingObject */
export async function readRepeats(
  objects: Pick<JobObjects, "getRange">,
  { teamId, jobId }: Pick<JobMaterial, "teamId" | "jobId">,
  chunks: readonly Pick<ChunkOfResults, "repeatsByte" | "repeatsBytes">[],
  signal: AbortSignal,
): Promise<ChunkRepeats[]> {
  const parts = chunks.map(({ repeatsByte, repeatsBytes }) => ({
    firstByte: repeatsByte,
    bytes: repeatsBytes,
  }));
  const range = rangeOver(parts.filter(({ bytes }) => bytes > 0));
  const content =
    range.bytes === 0 ? Buffer.alloc(0) : await objects.getRange(repeatsKey(teamId, jobId), range, signal);
  return parts.map(({ firstByte, bytes }) => {
    const at = firstByte - range.firstByte;
    return decodeChunkRepeats(bytes === 0 ? new Uint8Array() : content.subarray(at, at + bytes));
  });
}

/** One after the other: of a chunk whose rows came late there may be many. */
async function readShards(
  { objects }: SpanDeps,
  { shardKey, patches }: ChunkOfResults,
  signal: AbortSignal,
): Promise<Shard> {
  const keys = shardKey === null ? patches : [shardKey, ...patches];
  const shards: Shard[] = [];
  for (const key of keys) shards.push(await decodeShard(await objects.get(key, signal)));
  return joinShards(shards);
}

/**
 * Loads a span. It reads the bytes of its rows only when one of the rows has a result of its own.
 * @throws SourceLost; MissingObject when an object of ours is gone; Error when one differs from the one written
 */
export async function loadSpan(
  deps: SpanDeps,
  job: JobMaterial,
  span: readonly ChunkOfResults[],
  signal: AbortSignal,
): Promise<LoadedSpan> {
  let bytes: Buffer | null = null;
  const range = rangeOver(span);
  const loaded = {
    hasBytes: false,
    async readBytes() {
      bytes = await readSourceRows(deps, job, range, signal);
      loaded.hasBytes = true;
    },
  };
  const hasResults = span.some(({ shardKey, patches }) => shardKey !== null || patches.length > 0);
  const [repeats, shards] = await Promise.all([
    readRepeats(deps.objects, job, span, signal),
    Promise.all(span.map((chunk) => readShards(deps, chunk, signal))),
    hasResults ? loaded.readBytes() : null,
  ]);
  const chunks = span.map((chunk, i) => ({
    firstRow: chunk.firstRow,
    repeats: repeats[i] as ChunkRepeats,
    results: shards[i] as Shard,
    lines() {
      const at = chunk.firstByte - range.firstByte;
      if (bytes === null) throw new Error("the rows of a span were not read");
      const lines = findLines(bytes.subarray(at, at + chunk.bytes), job.layout, chunk.rows);
      if (lines.count !== chunk.rows) throw new Error(`a chunk of ${chunk.rows} rows holds ${lines.count}`);
      return lines;
    },
  }));
  return Object.assign(loaded, { chunks });
}
