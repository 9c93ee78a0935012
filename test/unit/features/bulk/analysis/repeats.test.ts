import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CHUNK_ROWS_MAX,
  type ChunkRepeats,
  decodeChunkRepeats,
  encodeChunkRepeats,
} from "../../../../../src/features/bulk/analysis/repeats.ts";
import fc from "../../../../support/properties.ts";

const offset = fc.nat(CHUNK_ROWS_MAX - 1);
const value = fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), fc.nat(300), fc.constant(0xffff_ffff));

/** An offset cannot be both a copy and a row with copies, so even offsets are copies, and odd ones have copies. */
const chunkRepeats = fc.array(fc.tuple(offset, value)).map(
  (entries): ChunkRepeats => ({
    sameAs: new Map(entries.filter(([at]) => at % 2 === 0)),
    copies: new Map(entries.filter(([at, count]) => at % 2 === 1 && count > 0)),
  }),
);

const bytes = (...numbers: number[]) => Uint8Array.from(numbers);

describe("the repeats of a chunk", () => {
  it("are what they were after they were written and read", () =>
    fc.assert(
      fc.property(chunkRepeats, (repeats) => {
        assert.deepEqual(decodeChunkRepeats(encodeChunkRepeats(repeats)), repeats);
      }),
    ));

  it("are no bytes when there are none", () => {
    assert.equal(encodeChunkRepeats({ sameAs: new Map(), copies: new Map() }).length, 0);
    assert.deepEqual(decodeChunkRepeats(bytes()), { sameAs: new Map(), copies: new Map() });
  });

  it("have room for every row of the largest chunk", () => {
    const sameAs = new Map<number, number>();
    for (let i = 0; i < CHUNK_ROWS_MAX; i++) sameAs.set(i, i % 2 === 0 ? 0 : 0xffff_ffff);
    assert.deepEqual(decodeChunkRepeats(encodeChunkRepeats({ sameAs, copies: new Map() })).sameAs, sameAs);
  });

  it("cost two bytes a row where a list repeats another in order", () => {
    const sameAs = new Map(Array.from({ length: 1_000 }, (_, i) => [i, 5_000_000 + i]));
    assert.ok(encodeChunkRepeats({ sameAs, copies: new Map() }).length < 2_010);
  });

  for (const [what, wrong, message] of [
    ["an end within a number", bytes(0x80), /too early/],
    ["an end within the entries", bytes(2, 1, 8), /too early/],
    ["an end before the copies", bytes(1, 1, 8), /too early/],
    ["bytes left over", bytes(1, 1, 8, 0, 0), /left over/],
    ["an offset twice", bytes(2, 1, 8, 0, 8, 0), /do not ascend/],
    ["an offset beyond a chunk", bytes(1, 0x80, 0x80, 0x04, 0, 0), /do not ascend/],
    ["more entries than a chunk has rows", bytes(0x80, 0x80, 0x04), /not so many/],
    ["a row below 0", bytes(1, 1, 1, 0), /out of range/],
    ["a row above 32 bits", bytes(1, 1, 0x80, 0x80, 0x80, 0x80, 0x20, 0), /out of range/],
    ["a first without copies", bytes(0, 1, 1, 0), /out of range/],
    ["a number of six bytes", bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0), /too long/],
    ["a row that is copy and first", bytes(1, 1, 8, 1, 1, 1), /at once/],
  ] as const)
    it(`are refused with ${what}`, () => assert.throws(() => decodeChunkRepeats(wrong), message));

  it("are refused, or read as what would be written otherwise, whatever the bytes", () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (any) => {
        let read: ChunkRepeats;
        try {
          read = decodeChunkRepeats(any);
        } catch (error) {
          return assert.match(String(error), /cannot be read/);
        }
        assert.deepEqual(decodeChunkRepeats(encodeChunkRepeats(read)), read);
      }),
    ));
});
