import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createChunkCutter } from "../../../../src/services/bulk/chunk-cutter.ts";

const { rowsPerChunk, chunkBytes, recordBytes } = LIMITS.bulk;

/** Rows as they may lie in a source: how much is between one and the next, and how long each is. */
const rowsOf = (maxLength: number) =>
  fc.array(
    fc.record({
      gap: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(2 * chunkBytes)),
      bytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: recordBytes })),
    }),
    { maxLength },
  );

function cut(rows: readonly { gap: number; bytes: number }[], from = 0) {
  const cutter = createChunkCutter();
  const ranges: [number, number][] = [];
  let at = from;
  for (const { gap, bytes } of rows) {
    ranges.push([at + gap, at + gap + bytes]);
    at += gap + bytes;
    cutter.add(at - bytes, at);
  }
  return { chunks: cutter.end(), ranges };
}

describe("chunks", () => {
  it("hold every row once, in order, from its first byte to its last, within their bounds", () => {
    fc.assert(
      fc.property(rowsOf(60), fc.nat(1_000), (rows, from) => {
        const { chunks, ranges } = cut(rows, from);
        let row = 0;
        for (const chunk of chunks) {
          assert.equal(chunk.firstRow, row);
          assert.ok(chunk.rows > 0 && chunk.rows <= rowsPerChunk);
          assert.equal(chunk.firstByte, ranges[row]?.[0]);
          row += chunk.rows;
          assert.equal(chunk.firstByte + chunk.bytes, ranges[row - 1]?.[1]);
          assert.ok(chunk.bytes < chunkBytes + recordBytes, `${chunk.bytes} bytes`);
        }
        assert.equal(row, rows.length);
      }),
      { numRuns: 200 },
    );
  });

  it("have as many rows as they may, and the last one the rest", () => {
    const { chunks } = cut(Array.from({ length: 2 * rowsPerChunk + 1 }, () => ({ gap: 0, bytes: 10 })));
    assert.deepEqual(chunks, [
      { firstRow: 0, rows: rowsPerChunk, firstByte: 0, bytes: 10 * rowsPerChunk },
      { firstRow: rowsPerChunk, rows: rowsPerChunk, firstByte: 10 * rowsPerChunk, bytes: 10 * rowsPerChunk },
      { firstRow: 2 * rowsPerChunk, rows: 1, firstByte: 20 * rowsPerChunk, bytes: 10 },
    ]);
  });

  it("are larger behind the first of a long list", () => {
    const { smallChunks, rowsPerLargeChunk } = LIMITS.bulk;
    const rows = smallChunks * rowsPerChunk + rowsPerLargeChunk + 1;
    const { chunks } = cut(Array.from({ length: rows }, () => ({ gap: 0, bytes: 1 })));
    assert.deepEqual(
      chunks.map((chunk) => chunk.rows),
      [...new Array<number>(smallChunks).fill(rowsPerChunk), rowsPerLargeChunk, 1],
    );
  });

  it("are all large in a list of as many large ones, within the same bounds", () => {
    const { smallChunks, rowsPerLargeChunk } = LIMITS.bulk;
    const rows = smallChunks * rowsPerLargeChunk;
    const short = Array.from({ length: rows }, () => ({ gap: 0, bytes: 10 }));
    assert.equal(cut(short.slice(1)).chunks[0]?.rows, rowsPerChunk);
    const all = { rows: rowsPerLargeChunk, bytes: 10 * rowsPerLargeChunk };
    assert.deepEqual(
      cut(short).chunks,
      Array.from({ length: smallChunks }, (_, i) => ({
        firstRow: i * all.rows,
        firstByte: i * all.bytes,
        ...all,
      })),
    );
    // A third of the bytes of a chunk are in each small one at the beginning: two of them are one, never three.
    const long = short.map((row, i) => ({
      ...row,
      gap: i % rowsPerChunk === 1 ? Math.floor(chunkBytes / 3) : 0,
    }));
    const { chunks } = cut(long);
    assert.equal(chunks[0]?.rows, 2 * rowsPerChunk);
    assert.ok(chunks.every(({ bytes }) => bytes <= chunkBytes));
    assert.equal(
      chunks.reduce((sum, chunk) => sum + chunk.rows, 0),
      rows,
    );
    assert.ok(
      chunks.every(({ firstRow, rows }, i) => firstRow + rows === (chunks[i + 1]?.firstRow ?? long.length)),
    );
  });

  it("leave out what is before the first row, and do not grow with what lies between two", () => {
    const { chunks } = cut([
      { gap: 7, bytes: 10 },
      { gap: 3 * chunkBytes, bytes: 10 },
    ]);
    assert.deepEqual(
      chunks.map(({ firstByte, bytes }) => [firstByte, bytes]),
      [
        [7, 10],
        [17 + 3 * chunkBytes, 10],
      ],
    );
  });

  it("are none without rows", () => {
    assert.deepEqual(createChunkCutter().end(), []);
  });
});
