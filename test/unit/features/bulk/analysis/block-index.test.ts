import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBlockIndex } from "../../../../../src/features/bulk/analysis/block-index.ts";
import fc from "../../../../support/properties.ts";

describe("fences", () => {
  it("tell the block that may have a row", () =>
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(400), { maxLength: 200 }), fc.nat(410), (rows, wanted) => {
        const ascending = rows.toSorted((a, b) => a - b);
        const fences = createBlockIndex();
        for (const [i, row] of ascending.entries()) fences.add(row, i * 2 ** 33);
        const number = ascending.findLastIndex((row) => row <= wanted);
        assert.equal(fences.size(), ascending.length);
        assert.equal(fences.search(wanted), number);
        if (number >= 0) assert.equal(fences.position(number), number * 2 ** 33);
      }),
    ));

  it("take 12 bytes each, twice that at most", () => {
    const fences = createBlockIndex();
    for (let i = 0; i < 10_000; i++) fences.add(i, i);
    assert.ok(fences.heldBytes() <= 24 * 10_000);
  });
});
