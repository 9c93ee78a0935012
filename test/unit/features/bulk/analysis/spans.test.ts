import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { type SpanSizes, spansOf } from "../../../../../src/features/bulk/analysis/spans.ts";
import type { ChunkOfResults } from "../../../../../src/features/bulk/schedule/job-tasks.ts";

/** The rows of the chunks of each span. */
async function spansOfRows(rows: readonly number[], sizes: SpanSizes): Promise<number[][]> {
  const total = rows.reduce((sum, count) => sum + count, 0);
  const chunks = rows.map(
    (count, number) =>
      ({
        number,
        firstRow: rows.slice(0, number).reduce((sum, before) => sum + before, 0),
        rows: count,
        bytes: count,
        shardKey: "s",
        patches: [],
        repeatsBytes: 0,
      }) as Partial<ChunkOfResults>,
  ) as ChunkOfResults[];
  const chunksOf = async (_jobId: string, after: number, limit: number) =>
    chunks.slice(after + 1, after + 1 + limit);
  const spans: number[][] = [];
  for await (const span of spansOf({ chunksOf }, { jobId: "job", rows: total }, sizes))
    spans.push(span.map((chunk) => chunk.rows));
  return spans;
}

const { rowsPerChunk, rowsPerLargeChunk } = LIMITS.bulk;

describe("the spans of a join", () => {
  it("have as many rows of large chunks as of small ones", async () => {
    const { results } = LIMITS;
    const small = Array<number>(16).fill(rowsPerChunk);
    const large = Array<number>(4).fill(rowsPerLargeChunk);
    const wanted = [8, 8, 2, 2].map((chunks, i) =>
      Array(chunks).fill(i < 2 ? rowsPerChunk : rowsPerLargeChunk),
    );
    assert.deepEqual(await spansOfRows([...small, ...large], results), wanted);
    const download = [4, 4, 4, 4, 1, 1, 1, 1].map((chunks, i) =>
      Array(chunks).fill(i < 4 ? rowsPerChunk : rowsPerLargeChunk),
    );
    assert.deepEqual(await spansOfRows([...small, ...large], results.joinedDownload), download);
  });

  it("have a chunk at least, and lose none", async () => {
    const sizes = { spanChunks: 3, spanBytes: 1_000, spanRows: 10 };
    assert.deepEqual(await spansOfRows([11, 12, 4, 6, 1, 1, 1, 1, 9, 2], sizes), [
      [11],
      [12],
      [4, 6],
      [1, 1, 1],
      [1, 9],
      [2],
    ]);
  });
});
