import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bulkMemoryTerms, totalOf } from "../../../bench/memory-bound.ts";

const BASIS = { readyBytes: 100_000_000, threads: 2, cacheEntries: 100_000, rowsMax: 50_000_000 };

describe("the bound of the memory of a worker", () => {
  it("hardly grows with the rows of a job", async () => {
    const few = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000 }));
    const many = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 10_000_000 }));
    assert.ok(many > few && many < few * 1.05, `${few} and ${many} bytes`);
  });

  it("grows with what is configured", async () => {
    const usual = totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000 }));
    for (const more of [{ threads: 3 }, { cacheEntries: 200_000 }, { readyBytes: 200_000_000 }])
      assert.ok(totalOf(await bulkMemoryTerms({ ...BASIS, rows: 1_000_000, ...more })) > usual);
  });
});
