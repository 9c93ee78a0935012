import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createChunkCutter } from "../../../../../src/features/bulk/analysis/chunk-cutter.ts";
import fc from "../../../../support/properties.ts";

const { rowsPerChunk, chunkSlackRows, chunkBytes, recordBytes } = LIMITS.bulk;

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

/** One of ten bytes for each domain, one behind the other. */
function cutDomains(domains: readonly string[]) {
  const cutter = createChunkCutter();
  // One place for all, as the scanner has it.
  const bytes = Buffer.alloc(64);
  for (const [row, domain] of domains.entries()) {
    const to = bytes.write(`a@b"@${domain}`, 0, "latin1");
    cutter.add(10 * row, 10 * row + 10, { bytes, from: 0, to });
  }
  return cutter.end();
}

const times = (count: number, domain: string) => Array.from({ length: count }, () => domain);
const rowsIn = (chunks: readonly { rows: number }[]) => chunks.map(({ rows }) => rows);

describe("chunks of rows that are sorted by domain", () => {
  it("have the last rows of a domain too, where these are few", () => {
    const before = times(rowsPerChunk - 1, "a.example");
    const domains = [...before, ...times(1 + chunkSlackRows - 1, "b.example"), ...times(30, "c.example")];
    assert.deepEqual(rowsIn(cutDomains(domains)), [rowsPerChunk + chunkSlackRows - 1, 30]);
    assert.deepEqual(rowsIn(cutDomains([...before, "b.example", "c.example"])), [rowsPerChunk, 1]);
  });

  it("are cut as others where a domain has more, or ends with the list", () => {
    const before = times(rowsPerChunk - 1, "a.example");
    const more = [...before, ...times(1 + chunkSlackRows, "b.example"), "c.example"];
    assert.deepEqual(rowsIn(cutDomains(more)), [rowsPerChunk, chunkSlackRows + 1]);
    assert.deepEqual(rowsIn(cutDomains([...before, ...times(3, "b.example")])), [rowsPerChunk, 2]);
    assert.deepEqual(
      rowsIn(cutDomains(times(3 * rowsPerChunk, "a.example"))),
      times(3, "").map(() => rowsPerChunk),
    );
  });

  it("hold every row once, in order", () => {
    const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 700 }), fc.nat(3)), { maxLength: 20 });
    fc.assert(
      fc.property(runs, (lengths) => {
        const domains = lengths.flatMap(([length, domain]) => times(length, `${domain}.example`));
        let row = 0;
        for (const chunk of cutDomains(domains)) {
          assert.deepEqual([chunk.firstRow, chunk.firstByte, chunk.bytes], [row, 10 * row, 10 * chunk.rows]);
          assert.ok(chunk.rows > 0 && chunk.rows <= rowsPerChunk + chunkSlackRows);
          row += chunk.rows;
        }
        assert.equal(row, domains.length);
      }),
    );
  });
});

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
