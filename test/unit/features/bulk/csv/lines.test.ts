import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldsOf } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import fc from "../../../../support/properties.ts";

/** At most `rows` records; one more if there are more. */
function recordsOf(content: Buffer, rows: number): string[][] {
  const lines = findLines(content, { delimiter: ",", emailColumn: 0 }, rows);
  return Array.from({ length: lines.count }, (_, number) =>
    fieldsOf(lineAt(lines, number), { delimiter: "," }),
  );
}

describe("records that are split", () => {
  it("are those that csv-parse reads", () => {
    const bytes = fc.string({
      unit: fc.constantFrom("a", "b", ",", "\r", "\n", '"', " ", "\xe4", "\0"),
      maxLength: 30,
    });
    fc.assert(
      fc.property(bytes, (text) => {
        const content = Buffer.from(text, "latin1");
        let oracle: string[][] | null;
        try {
          oracle = parseRecords(content, { delimiter: "," });
        } catch {
          oracle = null;
        }
        if (oracle !== null) assert.deepEqual(recordsOf(content, oracle.length), oracle);
      }),
      { numRuns: 2_000 },
    );
  });

  it("have the fields of their text where a space delimits them, and quotes may open behind spaces", () => {
    const dialect = { delimiter: " ", quotes: "after_space" } as const;
    const lines = findLines(Buffer.from('a  "b c"\na  b'), { ...dialect, emailColumn: 0 }, 2);
    assert.deepEqual([...lines.fields.subarray(0, 2)], [3, 3]);
    assert.deepEqual(fieldsOf(lineAt(lines, 0), dialect), ["a", "", "b c"]);
    assert.deepEqual(fieldsOf(lineAt(lines, 1), dialect), ["a", "", "b"]);
  });
});
