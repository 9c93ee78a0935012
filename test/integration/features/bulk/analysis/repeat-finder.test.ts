import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  createRepeatFinder,
  type FinderSizes,
  type RepeatFinder,
} from "../../../../../src/features/bulk/analysis/repeat-finder.ts";
import type { ChunkBounds } from "../../../../../src/features/bulk/analysis/repeat-outcomes.ts";
import type { ChunkRepeats } from "../../../../../src/features/bulk/analysis/repeats.ts";
import { ScratchFull } from "../../../../../src/stores/scratch.ts";
import fc from "../../../../support/properties.ts";
import { createTestScratch } from "../../../../support/scratch.ts";

const scratch = createTestScratch();
after(() => {
  const left = scratch.openFiles();
  scratch.remove();
  if (left !== null) assert.equal(left, 0, "files are left open");
});

/** Key of a row; null: malformed, so that it is not added. */
type Key = string | null;

function add(finder: RepeatFinder, row: number, key: string): Promise<void> | null {
  const bytes = Buffer.from(key);
  return finder.add(row, bytes, 0, bytes.length);
}

interface Found {
  duplicates: number;
  chunks: ChunkRepeats[];
}

/** The expected result, by a map of all keys. */
function naive(keys: readonly Key[], bounds: readonly ChunkBounds[]): Found {
  const firsts = new Map<string, number>();
  const sameAs = new Map<number, number>();
  const copies = new Map<number, number>();
  for (const [row, key] of keys.entries()) {
    if (key === null) continue;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, row);
    else {
      sameAs.set(row, first);
      copies.set(first, (copies.get(first) ?? 0) + 1);
    }
  }
  const within = ({ firstRow, rows }: ChunkBounds, all: Map<number, number>) =>
    new Map(
      [...all]
        .filter(([row]) => row >= firstRow && row < firstRow + rows)
        .map(([row, value]) => [row - firstRow, value] as const)
        .sort(([a], [b]) => a - b),
    );
  const chunks = bounds.map((chunk) => ({ sameAs: within(chunk, sameAs), copies: within(chunk, copies) }));
  return { duplicates: sameAs.size, chunks };
}

interface Finding extends Found {
  heldBytes: number;
}

async function find(
  keys: readonly Key[],
  bounds: readonly ChunkBounds[],
  options: { rowsMax: number; sizes?: FinderSizes },
): Promise<Finding> {
  const finder = createRepeatFinder(scratch, options);
  try {
    let heldBytes = 0;
    for (const [row, key] of keys.entries()) {
      const due = key === null ? null : add(finder, row, key);
      if (due !== null) await due;
      heldBytes = Math.max(heldBytes, finder.heldBytes());
    }
    const found = await finder.finish();
    heldBytes = Math.max(heldBytes, finder.heldBytes());
    const chunks: ChunkRepeats[] = [];
    for await (const chunk of found.forChunks(bounds)) chunks.push(chunk);
    return { duplicates: found.duplicates, chunks, heldBytes: Math.max(heldBytes, finder.heldBytes()) };
  } finally {
    await finder.close();
  }
}

/** Bounds of all rows, in chunks of the lengths given, over and over. */
function cut(rows: number, lengths: readonly number[]): ChunkBounds[] {
  const bounds: ChunkBounds[] = [];
  for (let firstRow = 0, i = 0; firstRow < rows; i++) {
    const length = Math.min(lengths[i % lengths.length] ?? 1, rows - firstRow);
    bounds.push({ firstRow, rows: length });
    firstRow += length;
  }
  return bounds;
}

const sizes = fc.record({
  blockBytes: fc.constantFrom(32, 64, 100, 256).map((bytes) => bytes - (bytes % 4)),
  blocksAtOnce: fc.integer({ min: 1, max: 5 }),
  keysAtOnce: fc.integer({ min: 1, max: 40 }),
  lists: fc.constantFrom(1, 2, 4, 8),
  fileBytes: fc.constant(1_048_576),
});
const name = fc.oneof(fc.nat(3).map(String), fc.nat(30).map(String), fc.string({ unit: "grapheme" }));
const keys = fc.array(fc.oneof({ weight: 5, arbitrary: name }, { weight: 1, arbitrary: fc.constant(null) }), {
  maxLength: 300,
});
const lengths = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 });

function checked({ duplicates, chunks }: Finding, wanted: Found): void {
  assert.equal(duplicates, wanted.duplicates);
  assert.deepEqual(chunks, wanted.chunks);
}

describe("repeats", () => {
  it("are those of a map of all keys, whatever the keys, the chunks and the sizes", () =>
    fc.assert(
      fc.asyncProperty(keys, lengths, sizes, fc.nat(500), async (list, chunkRows, limits, spare) => {
        const bounds = cut(list.length, chunkRows);
        const found = await find(list, bounds, { rowsMax: list.length + spare, sizes: limits });
        checked(found, naive(list, bounds));
      }),
      { numRuns: 150 },
    ));

  const small = { blockBytes: 256, blocksAtOnce: 4, keysAtOnce: 64, lists: 8, fileBytes: 4_194_304 };
  const rows = 5_000;
  for (const [what, list] of [
    ["all rows are distinct", Array.from({ length: rows }, (_, i) => `a${i}`)],
    ["all rows are the same", Array.from({ length: rows }, () => "a")],
    ["a list comes twice", Array.from({ length: rows }, (_, i) => `a${i % (rows / 2)}`)],
    ["a few come often, many once", Array.from({ length: rows }, (_, i) => `a${i % 3 === 0 ? i : i % 7}`)],
    ["the first comes again at the end", Array.from({ length: rows }, (_, i) => `a${i % (rows - 1)}`)],
    ["there are none", []],
  ] as const)
    it(`are found where ${what}`, async () => {
      const bounds = cut(list.length, [999, 1, 130]);
      checked(await find(list, bounds, { rowsMax: rows, sizes: small }), naive(list, bounds));
    });

  it("are found with the sizes of production", async () => {
    const list = Array.from({ length: 60_000 }, (_, i) => `a${(i * 31) % 45_000}@example.com`);
    const bounds = cut(list.length, [1_000]);
    for (const rowsMax of [60_000, 50_000_000])
      checked(await find(list, bounds, { rowsMax }), naive(list, bounds));
  });

  it("of some chunks only can be asked for, and again", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 100, sizes: small });
    for (let row = 0; row < 100; row++) await add(finder, row, `a${row % 10}`);
    const found = await finder.finish();
    for (let time = 0; time < 2; time++) {
      const chunks: ChunkRepeats[] = [];
      for await (const chunk of found.forChunks([
        { firstRow: 8, rows: 4 },
        { firstRow: 95, rows: 1 },
      ]))
        chunks.push(chunk);
      const copies = new Map([
        [0, 9],
        [1, 9],
      ]);
      const sameAs = new Map([
        [2, 0],
        [3, 1],
      ]);
      assert.deepEqual(chunks, [
        { sameAs, copies },
        { sameAs: new Map([[0, 5]]), copies: new Map() },
      ]);
    }
    await finder.close();
  });
});

describe("a finder of repeats", () => {
  const small = { blockBytes: 512, blocksAtOnce: 4, keysAtOnce: 128, lists: 16, fileBytes: 16_777_216 };
  const keysOf = {
    distinct: (i: number) => `a${i}`,
    same: () => "a",
    pairs: (i: number) => `a${i >> 1}`,
  };
  for (const [what, key] of Object.entries(keysOf))
    it(`holds no more of many rows than of few, but 16 bytes a block of the file: keys ${what}`, async () => {
      const held = async (rows: number) => {
        const list = Array.from({ length: rows }, (_, i) => key(i));
        return (await find(list, [], { rowsMax: 100_000, sizes: small })).heldBytes;
      };
      const [few, many] = [await held(1_000), await held(50_000)];
      const fileBlocks = Math.ceil((50_000 * 20) / 500);
      assert.ok(many - few <= 16 * fileBlocks, `${many} bytes after 50 000 rows, ${few} after 1 000`);
    });

  it("of the largest job holds less than 64 MB", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 50_000_000 });
    await add(finder, 0, "a");
    await finder.finish();
    const { blockBytes } = LIMITS.bulk.repeats;
    const fileBlocks = Math.ceil((50_000_000 * 20) / blockBytes);
    assert.ok(finder.heldBytes() + 16 * fileBlocks < 64_000_000, `${finder.heldBytes()} bytes`);
    await finder.close();
  });

  it("closes its file, also in the middle of adding", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 10_000, sizes: small });
    for (let row = 0; row < 5_000; row++) await add(finder, row, String(row));
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 1);
    assert.deepEqual(scratch.names(), []);
    await finder.close();
    await finder.close();
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 0);
    await assert.rejects(finder.finish(), /closed/);
  });

  it("makes no file for a handful of rows", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 50_000_000 });
    for (let row = 0; row < 100; row++) assert.equal(add(finder, row, String(row % 50)), null);
    assert.equal((await finder.finish()).duplicates, 50);
    if (scratch.openFiles() !== null) assert.equal(scratch.openFiles(), 0);
    await finder.close();
  });

  it("says so when its file is full, and finds nothing with half of the rows", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 10_000, sizes: { ...small, fileBytes: 20_000 } });
    const adding = async () => {
      for (let row = 0; row < 10_000; row++) await add(finder, row, String(row));
    };
    await assert.rejects(adding, ScratchFull);
    await assert.rejects(finder.finish(), ScratchFull);
    await finder.close();
  });

  it("refuses rows out of order and out of range, and to find twice", async () => {
    const finder = createRepeatFinder(scratch, { rowsMax: 10, sizes: small });
    add(finder, 3, "a");
    for (const row of [3, 2, 10]) assert.throws(() => add(finder, row, "b"), RangeError);
    const found = await finder.finish();
    assert.throws(() => add(finder, 5, "a"), RangeError);
    await assert.rejects(finder.finish(), /before/);
    for (const bounds of [
      [{ firstRow: 0, rows: 11 }],
      [
        { firstRow: 5, rows: 2 },
        { firstRow: 6, rows: 1 },
      ],
    ])
      await assert.rejects(async () => {
        for await (const chunk of found.forChunks(bounds)) assert.ok(chunk);
      }, RangeError);
    await finder.close();
  });
});
