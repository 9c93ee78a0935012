import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecordCopier } from "../../../../../src/features/bulk/analysis/record-bytes.ts";
import { RowBuffer } from "../../../../../src/features/bulk/analysis/row-buffer.ts";
import { type Dialect, dialectOfResults } from "../../../../../src/features/bulk/csv/dialect.ts";
import { fieldsOf } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { createRecordScanner } from "../../../../../src/features/bulk/csv/scan.ts";
import { valueAt } from "../../../../../src/features/bulk/csv/value-place.ts";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import { cut } from "../../../../support/csv-corpus/hostile.ts";
import { referenceRecords } from "../../../../support/csv-corpus/reference.ts";
import fc from "../../../../support/properties.ts";

const dialects: fc.Arbitrary<Dialect> = fc
  .record({
    delimiter: fc.constantFrom(",", ";", "\t", "|"),
    escapedBy: fc.constantFrom(undefined, "\\" as const),
    quotes: fc.constantFrom(undefined, "text" as const, "after_space" as const),
    encoding: fc.constantFrom(undefined, "shift_jis"),
  })
  .map(({ delimiter, escapedBy, quotes, encoding }) => ({
    delimiter,
    ...(escapedBy === undefined ? {} : { escapedBy }),
    ...(quotes === undefined ? {} : { quotes }),
    ...(encoding === undefined ? {} : { encoding }),
  }));

/** `\x83|` and `\x95\` are characters of Shift_JIS, `\xb1` is one by itself. */
const units = [
  "a",
  "b@c.de",
  ",",
  ";",
  "\t",
  "|",
  "\\",
  "\\N",
  "\r",
  "\n",
  "\r\n",
  '"',
  '""',
  " ",
  "\0",
  "\x83|",
  "\x95\\",
  "\x83",
  "\xb1",
];
const text = fc.string({ unit: fc.constantFrom(...units), maxLength: 40 });
const RUNS = { numRuns: 5_000 };

function scan(content: string, dialect: Dialect, sizes: readonly number[]) {
  const records: { fields: number; address: string }[] = [];
  const bounds = { emailColumn: 1, recordBytes: 1_000, columns: 1_000 };
  const scanner = createRecordScanner({ ...dialect, ...bounds }, (_start, _end, fields, address) => {
    records.push({ fields, address: valueAt(address) });
  });
  for (const piece of cut(Buffer.from(content, "latin1"), sizes)) scanner.push(piece);
  return scanner.end()?.code ?? records;
}

describe("a list in any dialect", () => {
  it("is read alike by the scanner, however it is cut, by the parser and by the finder of lines", () => {
    const sizes = fc.array(fc.nat(6), { minLength: 1, maxLength: 5 });
    let read = 0;
    fc.assert(
      fc.property(text, dialects, sizes, (content, dialect, pieces) => {
        const bytes = Buffer.from(content, "latin1");
        const expected = referenceRecords(content, dialect);
        const scanned = scan(content, dialect, pieces);
        if (expected === "quote_not_closed") {
          assert.equal(scanned, "quote_not_closed");
          assert.throws(() => parseRecords(bytes, dialect), /never closed/);
          return;
        }
        read += 1;
        const cell = (value = "") => (value === "\\N" && dialect.escapedBy !== undefined ? "" : value);
        assert.deepEqual(parseRecords(bytes, dialect), expected);
        // A field `\N` has no value; one of the same text in quotes has.
        assert.deepEqual(
          scanned,
          expected.map((fields, i) => {
            const address = (scanned as { address: string }[])[i]?.address;
            const isQuoted = address === "\\N";
            return { fields: fields.length, address: isQuoted ? (fields[1] ?? "") : cell(fields[1]) };
          }),
        );
        const lines = findLines(bytes, { ...dialect, emailColumn: 1 }, expected.length);
        assert.equal(lines.count, expected.length);
        for (let i = 0; i < lines.count; i += 1) {
          const [from, to] = [lines.addressFrom[i], lines.addressTo[i]];
          const [field = ""] = from === to ? [] : fieldsOf(bytes.toString("latin1", from, to), dialect);
          assert.equal(field, expected[i]?.[1] ?? "");
        }
      }),
      RUNS,
    );
    assert.ok(read > 1_000, `${read}`);
  });

  it("has its values in the results, written anew or copied", () => {
    let copied = 0;
    fc.assert(
      fc.property(text, dialects, fc.nat(3), (content, dialect, columns) => {
        const bytes = Buffer.from(content, "latin1");
        const expected = referenceRecords(content, dialect);
        if (expected === "quote_not_closed" || expected.length === 0) return;
        const results = dialectOfResults(dialect);
        // Without quoting, an incomplete character merges with the next byte.
        if (results.quotes === "text" && dialect.encoding !== undefined) return;
        const style = { ...results, columns, escapeFormulas: false };
        const lines = findLines(bytes, { ...dialect, emailColumn: 0 }, expected.length);
        assert.equal(lines.count, expected.length);
        const copier = new RecordCopier(style);
        for (const [i, fields] of expected.entries()) {
          const padded = [...fields, ...Array<string>(Math.max(0, columns - fields.length)).fill(""), "ours"];
          const written = `${writeRecord(fieldsOf(lineAt(lines, i), dialect), style)}${dialect.delimiter}ours\r\n`;
          assert.deepEqual(referenceRecords(written, results), [padded], written);
          const to = new RowBuffer(1);
          if (!copier.copy(to, lines, i)) continue;
          copied += 1;
          const copy = `${to.take().toString("latin1")}${dialect.delimiter}ours\r\n`;
          assert.deepEqual(referenceRecords(copy, results), [padded], copy);
        }
      }),
      RUNS,
    );
    assert.ok(copied > 1_000, `${copied}`);
  });
});
