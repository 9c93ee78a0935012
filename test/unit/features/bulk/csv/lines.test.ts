import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldsOf } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";

/** At most `rows` records; one more if there are more. */
function recordsOf(content: Buffer, rows: number): string[][] {
  const lines = findLines(content, { delimiter: ",", emailColumn: 0 }, rows);
  return Array.from({ length: lines.count }, (_, number) =>
    fieldsOf(lineAt(lines, number), { delimiter: "," }),
  );
}

describe("records that are split", () => {
  it("end where their line does outside of quotes, and blank ones are none", () => {
    const content = Buffer.from('a,"b\nc"\r\n\r\nd\n\n,e');
    assert.deepEqual(recordsOf(content, 3), [["a", "b\nc"], ["d"], ["", "e"]]);
    // One more than asked for says that there are more.
    assert.deepEqual(recordsOf(content, 1), [["a", "b\nc"], ["d"]]);
  });

  it("have the fields of their text where a space delimits them, and quotes may open behind spaces", () => {
    const dialect = { delimiter: " ", quotes: "after_space" } as const;
    const lines = findLines(Buffer.from('a  "b c"\na  b'), { ...dialect, emailColumn: 0 }, 2);
    assert.deepEqual([...lines.fields.subarray(0, 2)], [3, 3]);
    assert.deepEqual(fieldsOf(lineAt(lines, 0), dialect), ["a", "", "b c"]);
    assert.deepEqual(fieldsOf(lineAt(lines, 1), dialect), ["a", "", "b"]);
  });
});
