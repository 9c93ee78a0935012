import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { decodeChunkRepeats } from "../../../../../src/features/bulk/analysis/repeats.ts";
import { toText } from "../../../../../src/features/bulk/csv/field.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { analyseInline, inlineBytes } from "../../../../../src/features/bulk/submit/source.ts";
import { readAddresses } from "../../../../../src/verification/address/addresses-in.ts";
import fc from "../../../../support/properties.ts";

/** Few addresses in many spellings, and other texts found in lists. */
const email = fc.oneof(
  fc.constantFrom(
    "a@example.com",
    "A@example.com",
    "a@EXAMPLE.com",
    "J@gmail.com",
    "j@GMAIL.com",
    " a@example.com ",
    "b@example.com",
    '"b"@example.com',
    "ü@exämple.com",
    "",
    "\r\n",
    '"',
    "\0",
    "x,y;z",
  ),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);

/** The rows of a list and its repeats, chunk by chunk, as a worker reads them. */
function readBack(source: Awaited<ReturnType<typeof analyseInline>>) {
  const { delimiter, emailColumn } = source.layout;
  return source.chunks.map((chunk) => {
    const bytes = source.content.subarray(chunk.firstByte, chunk.firstByte + chunk.bytes);
    const index = source.repeats.subarray(chunk.repeatsByte, chunk.repeatsByte + chunk.repeatsBytes);
    const rows = parseRecords(bytes, { delimiter }).map((record) => toText(record[emailColumn] ?? ""));
    assert.equal(rows.length, chunk.rows);
    return { ...chunk, emails: rows, ...decodeChunkRepeats(index) };
  });
}

describe("an inline list", () => {
  it("takes an address out of its wrapping, as its chunks will", async () => {
    const source = await analyseInline([
      "Jane <a@example.com>",
      "a@example.com",
      "<no>",
      "\ud83d@example.com",
    ]);
    assert.deepEqual([source.duplicates, source.malformed, source.billable], [1, 2, 1]);
    const [chunk] = readBack(source);
    assert.deepEqual([...(chunk?.sameAs ?? [])], [[1, 0]]);
  });

  it("comes back from its chunks as it was, each repeat naming the first of its address", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(email, { minLength: 1, maxLength: 600 }), async (emails) => {
        const source = await analyseInline(emails);
        const firsts = new Map<string, number>();
        const copies = new Map<number, number>();
        let malformed = 0;
        let empty = 0;
        for (const [i, text] of emails.entries()) {
          const reading = readAddresses(text);
          const first = reading.kind === "one" ? firsts.get(reading.address.cacheKey) : undefined;
          if (reading.kind === "empty") empty += 1;
          else if (reading.kind !== "one") malformed += 1;
          else if (first === undefined) firsts.set(reading.address.cacheKey, i);
          else copies.set(first, (copies.get(first) ?? 0) + 1);
        }
        for (const chunk of readBack(source))
          for (const [offset, text] of chunk.emails.entries()) {
            const row = chunk.firstRow + offset;
            const reading = readAddresses(text);
            const first = reading.kind === "one" ? firsts.get(reading.address.cacheKey) : undefined;
            assert.equal(text, emails[row]);
            assert.equal(chunk.sameAs.get(offset), first === row ? undefined : first);
            assert.equal(chunk.copies.get(offset), copies.get(row));
          }
        assert.deepEqual(
          [source.rows, source.malformed, source.empty, source.billable, source.duplicates],
          [emails.length, malformed, empty, firsts.size, emails.length - malformed - empty - firsts.size],
        );
      }),
      { numRuns: 50 },
    );
  });

  it("is cut into chunks that lie side by side, as do their repeats", async () => {
    const { rowsPerChunk } = LIMITS.bulk;
    const source = await analyseInline(
      Array.from({ length: rowsPerChunk * 2 + 1 }, (_, i) => `u${i % rowsPerChunk}@é.example`),
    );
    assert.deepEqual(
      readBack(source).map(({ firstRow, rows, sameAs, copies }) => [
        firstRow,
        rows,
        sameAs.size,
        copies.size,
      ]),
      [
        [0, rowsPerChunk, 0, rowsPerChunk],
        [rowsPerChunk, rowsPerChunk, rowsPerChunk, 0],
        [rowsPerChunk * 2, 1, 1, 0],
      ],
    );
    let end = 0;
    let indexEnd = 0;
    for (const { firstByte, bytes, repeatsByte, repeatsBytes } of source.chunks) {
      assert.deepEqual([firstByte, repeatsByte], [end, indexEnd]);
      end += bytes;
      indexEnd += repeatsBytes;
    }
    assert.deepEqual([end, indexEnd], [source.content.length, source.repeats.length]);
  });

  it("without repeats has no index of them", async () => {
    assert.equal((await analyseInline(["a@example.com", "x", "x"])).repeats.length, 0);
  });

  it("is measured as a file of one address a line", () => {
    assert.equal(inlineBytes(["ü@é", ""]), 7);
  });
});
