import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RowLimit } from "../../../../../src/features/bulk/results/row-limit.ts";
import fc from "../../../../support/properties.ts";

/** The rows that pass, and the number of parts read until the limit is reached. */
function taken(parts: readonly number[][], limit: number | null, isSplit: boolean) {
  const rowLimit = new RowLimit(limit, isSplit);
  const rows: number[] = [];
  let read = 0;
  for (const part of parts) {
    read += 1;
    rows.push(...rowLimit.take(part.map((row) => ({ row }))).map(({ row }) => row));
    if (rowLimit.areAll) break;
  }
  return { rows, read };
}

describe("the first rows of a list", () => {
  it("are so many, each with all of its addresses, however the list is cut", () => {
    const steps = fc.array(fc.constantFrom(0, 1, 3), { maxLength: 30 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 9 }),
        (gaps, atOnce, limit) => {
          let last = 0;
          const all = gaps.map((gap) => {
            last += gap;
            return last;
          });
          const parts = Array.from({ length: Math.ceil(all.length / atOnce) }, (_, i) =>
            all.slice(i * atOnce, (i + 1) * atOnce),
          );
          const first = [...new Set(all)].slice(0, limit);
          const { rows } = taken(parts, limit, true);
          assert.deepEqual(
            rows,
            all.filter((row) => first.includes(row)),
          );
        },
      ),
    );
  });

  it("are all without a limit", () => {
    assert.deepEqual(taken([[0, 1], [5]], null, false), { rows: [0, 1, 5], read: 2 });
  });

  it("are known to be all with the last of them, or with the one behind it where rows have parts", () => {
    const parts = [[0, 1], [2, 3], [4], [5]];
    assert.deepEqual(taken(parts, 2, false), { rows: [0, 1], read: 1 });
    assert.deepEqual(taken(parts, 3, false), { rows: [0, 1, 2], read: 2 });
    assert.deepEqual(taken(parts, 2, true), { rows: [0, 1], read: 2 });
    assert.deepEqual(taken([[0, 1], [1], [1, 2], [3]], 2, true), { rows: [0, 1, 1, 1], read: 3 });
  });
});
