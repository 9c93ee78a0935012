import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseAddress } from "../../../../src/check/address.ts";
import { LIMITS } from "../../../../src/core/limits.ts";
import { analyseInline, inlineBytes, readSourceRows } from "../../../../src/services/bulk/source.ts";

/** Few addresses in many spellings, and whatever else comes in lists. */
const email = fc.oneof(
  fc.constantFrom(
    "a@example.com",
    "A@example.com",
    "a@EXAMPLE.com",
    " a@example.com ",
    "b@example.com",
    "",
    "x",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);

describe("an inline list", () => {
  it("comes back from its chunks as it was, each repeat naming the first of its address", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(email, { minLength: 1, maxLength: 600 }), async (emails) => {
        const source = await analyseInline(emails);
        const rows = source.chunks.flatMap(({ firstByte, bytes, rows }) =>
          readSourceRows(source.content.subarray(firstByte, firstByte + bytes), rows),
        );
        assert.equal(rows.length, emails.length);
        const firsts = new Map<string, number>();
        const copies = new Map<number, number>();
        let malformed = 0;
        for (const [i, text] of emails.entries()) {
          assert.equal(rows[i]?.email, text);
          const parsed = parseAddress(text);
          const first = parsed.ok ? firsts.get(parsed.address.normalised) : undefined;
          assert.equal(rows[i]?.same_as, first);
          if (!parsed.ok) malformed += 1;
          else if (first === undefined) firsts.set(parsed.address.normalised, i);
          else copies.set(first, (copies.get(first) ?? 0) + 1);
        }
        for (const [i, row] of rows.entries()) assert.equal(row.copies, copies.get(i));
        assert.deepEqual(
          [source.rows, source.malformed, source.billable, source.duplicates],
          [emails.length, malformed, firsts.size, emails.length - malformed - firsts.size],
        );
      }),
      { numRuns: 50 },
    );
  });

  it("is cut into chunks that lie side by side", async () => {
    const { rowsPerChunk } = LIMITS.bulk;
    const { chunks, content } = await analyseInline(
      Array.from({ length: rowsPerChunk * 2 + 1 }, (_, i) => `u${i}@é.example`),
    );
    assert.deepEqual(
      chunks.map(({ firstRow, rows }) => [firstRow, rows]),
      [
        [0, rowsPerChunk],
        [rowsPerChunk, rowsPerChunk],
        [rowsPerChunk * 2, 1],
      ],
    );
    let end = 0;
    for (const { firstByte, bytes } of chunks) {
      assert.equal(firstByte, end);
      end += bytes;
    }
    assert.equal(end, content.length);
  });

  it("refuses a chunk that is not what was written", async () => {
    const { content } = await analyseInline(["a@example.com", "b@example.com"]);
    assert.throws(() => readSourceRows(content, 3), /holds 2/);
    assert.throws(
      () => readSourceRows(content.subarray(3), 2),
      (error) => {
        assert.ok(error instanceof Error);
        assert.match(error.message, /^line 1 of \d+ bytes is not JSON$/);
        return true;
      },
    );
  });

  it("is measured as a file of one address a line", () => {
    assert.equal(inlineBytes(["ü@é", ""]), 7);
  });
});
