import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createCopiedResults } from "../../../../../src/features/bulk/results/copied-results.ts";
import { ScratchFull } from "../../../../../src/stores/scratch.ts";
import fc from "../../../../support/properties.ts";
import { createTestScratch } from "../../../../support/scratch.ts";

const scratch = createTestScratch();
after(() => {
  const left = scratch.openFiles();
  scratch.remove();
  if (left !== null) assert.equal(left, 0, "files are left open");
});

const small = { fileBytes: 1_048_576, blockBytes: 128, blocksKept: 3 };
const value = fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes));
const result = fc.tuple(fc.nat(255), value, value).map(([verdict, csv, json]) => ({
  listRow: 7 * verdict,
  verdict,
  bytes: Buffer.concat([csv, json]),
  csvBytes: csv.length,
}));
/** A row is appended, some distance behind the one before; or rows are looked for. */
const step = fc.oneof(
  fc.record({ distance: fc.integer({ min: 1, max: 5 }), result }),
  fc.record({ find: fc.array(fc.nat(300), { maxLength: 5 }) }),
);

const entry = (bytes: number) => ({
  listRow: 3_000_000_000,
  verdict: 2,
  bytes: Buffer.alloc(2 * bytes, 1),
  csvBytes: bytes,
});

describe("copied results", () => {
  it("are found as they were appended, and no others, at any time", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 150 }), async (steps) => {
        const copied = createCopiedResults(scratch, small);
        const wanted = new Map<number, unknown>();
        let row = -1;
        try {
          for (const next of steps)
            if ("result" in next) {
              row += next.distance;
              wanted.set(row, next.result);
              await copied.append(row, next.result);
            } else for (const looked of next.find) assert.deepEqual(copied.find(looked), wanted.get(looked));
          for (let looked = 0; looked <= row + 1; looked++)
            assert.deepEqual(copied.find(looked), wanted.get(looked));
        } finally {
          await copied.close();
        }
      }),
      { numRuns: 150 },
    ));

  it("stay what they were when other blocks have been read since", async () => {
    const copied = createCopiedResults(scratch, small);
    for (let row = 0; row < 50; row++) await copied.append(row, { ...entry(20), verdict: row });
    const found = Array.from({ length: 50 }, (_, row) => copied.find(row));
    for (const [row, each] of found.entries()) assert.deepEqual(each, { ...entry(20), verdict: row });
    await copied.close();
  });

  it("may be longer than a block", async () => {
    const copied = createCopiedResults(scratch, small);
    for (let row = 0; row < 10; row++) await copied.append(row, entry(row % 2 === 0 ? 5_000 : 3));
    for (let row = 9; row >= 0; row--) assert.deepEqual(copied.find(row), entry(row % 2 === 0 ? 5_000 : 3));
    await copied.close();
  });

  it("of the last 32-bit row can be kept", async () => {
    const copied = createCopiedResults(scratch, small);
    await copied.append(0, entry(100));
    await copied.append(0xffff_ffff, entry(7));
    assert.deepEqual(copied.find(0xffff_ffff), entry(7));
    assert.deepEqual(copied.find(0), entry(100));
    await copied.close();
  });

  it("take memory by the blocks of their file, not by their number or length", async () => {
    const held = async (rows: number, bytes: number) => {
      const copied = createCopiedResults(scratch, { ...small, blockBytes: 4_096, fileBytes: 16_777_216 });
      for (let row = 0; row < rows; row++) await copied.append(row, entry(bytes));
      for (let row = 0; row < rows; row += 97) copied.find(row);
      const heldBytes = copied.heldBytes();
      await copied.close();
      return heldBytes;
    };
    const blocks = Math.ceil((10_000 * 617) / (4_096 - 617));
    assert.ok((await held(10_000, 300)) <= 4 * 4_096 + 24 * blocks + 24 * 64);
  });

  it("make no file where one block has room for them", async () => {
    const copied = createCopiedResults(scratch);
    assert.equal(copied.append(1, entry(100)), null);
    assert.deepEqual(copied.find(1), entry(100));
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 0);
    await copied.close();
    assert.throws(() => copied.find(1), /any more/);
  });

  it("say so when their file is full, and answer nothing from then on", async () => {
    const copied = createCopiedResults(scratch, { ...small, fileBytes: 1_000 });
    const appending = async () => {
      for (let row = 0; row < 100; row++) await copied.append(row, entry(40));
    };
    await assert.rejects(appending, ScratchFull);
    assert.throws(() => copied.find(0), /any more/);
    await copied.close();
  });

  it("are refused out of order, and before what was to be waited for", async () => {
    const copied = createCopiedResults(scratch, small);
    copied.append(5, entry(50));
    for (const row of [5, 4]) assert.throws(() => copied.append(row, entry(1)), RangeError);
    const due = copied.append(6, entry(50));
    assert.throws(() => copied.append(7, entry(1)), /to be written/);
    assert.throws(() => copied.find(5), /to be written/);
    await due;
    assert.deepEqual(copied.find(5), entry(50));
    await copied.close();
  });
});
