import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FieldWriter, RecordCopier } from "../../../../../src/features/bulk/analysis/record-bytes.ts";
import { createReusableRowBuffer, RowBuffer } from "../../../../../src/features/bulk/analysis/row-buffer.ts";
import { fieldsOf, toText } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import fc from "../../../../support/properties.ts";

const delimiter = fc.constantFrom(",", ";", "\t", "|", " ", "\\", "a");
const content = fc.string({
  unit: fc.constantFrom("a", "b", ",", ";", "\t", "|", "\\", "\n", '"', " ", "=", "\xe4", "\x7f", "\0"),
  maxLength: 40,
});
const RUNS = { numRuns: 3_000 };
/** Several times as many records are met as this. */
const FEW = 100;

/** null: a quote is not closed. */
function linesOf(text: string, delimiter: string, emailColumn = 0) {
  const bytes = Buffer.from(text, "latin1");
  try {
    return findLines(bytes, { delimiter, emailColumn }, bytes.length);
  } catch {
    return null;
  }
}

describe("a record that is copied", () => {
  it("is what is written of its fields, or is not copied at all", () => {
    let copied = 0;
    fc.assert(
      fc.property(content, delimiter, fc.nat(4), fc.boolean(), (text, delimiter, columns, escapeFormulas) => {
        const lines = linesOf(text, delimiter);
        if (lines === null) return;
        const style = { delimiter, columns, escapeFormulas };
        const copier = new RecordCopier(style);
        for (let number = 0; number < lines.count; number++) {
          const to = new RowBuffer(1);
          if (!copier.copy(to, lines, number)) assert.equal(to.at, 0);
          else {
            copied += 1;
            const wanted = writeRecord(fieldsOf(lineAt(lines, number), { delimiter }), style);
            assert.equal(to.take().toString("latin1"), wanted);
          }
        }
      }),
      RUNS,
    );
    assert.ok(copied > FEW, `${copied}`);
  });
});

describe("fields that stand for themselves", () => {
  it("are JSON as JSON.stringify writes it", () => {
    let written = 0;
    fc.assert(
      fc.property(content, delimiter, fc.nat(3), (text, delimiter, emailColumn) => {
        const lines = linesOf(text, delimiter, emailColumn);
        if (lines === null) return;
        const fields = new FieldWriter(delimiter);
        for (let number = 0; number < lines.count; number++) {
          if (!fields.areSelf(lines, number)) continue;
          written += 1;
          const record: string[] = fieldsOf(lineAt(lines, number), { delimiter }).map(toText);
          const to = new RowBuffer(1);
          fields.writeAddress(to, lines, number);
          assert.equal(String(to.take()), JSON.stringify(record[emailColumn] ?? ""));
          fields.writeAll(to, lines, number);
          assert.equal(String(to.take()), `"columns":${JSON.stringify(record)},`);
        }
      }),
      RUNS,
    );
    assert.ok(written > FEW, `${written}`);
  });
});

describe("bytes of rows", () => {
  it("are all there however often their buffer grows", () => {
    const part = fc.oneof(
      fc.nat(0xffffffff).map((number) => ({ number })),
      fc.uint8Array({ maxLength: 90 }).map((bytes) => ({ bytes: Buffer.from(bytes) })),
      fc.string({ unit: fc.constantFrom("a", "\xe4"), maxLength: 9 }).map((text) => ({ text })),
    );
    const room = createReusableRowBuffer();
    fc.assert(
      fc.property(fc.array(part), fc.integer({ min: 1, max: 50 }), (parts, firstBytes) => {
        const to = room(firstBytes);
        const wanted: Buffer[] = [];
        for (const one of parts) {
          if ("number" in one) {
            to.number(one.number);
            wanted.push(Buffer.from(String(one.number)));
          } else if ("text" in one) {
            to.text(one.text);
            wanted.push(Buffer.from(one.text, "latin1"));
          } else {
            to.part(one.bytes, 1, Math.max(1, one.bytes.length - 1));
            to.all(one.bytes);
            wanted.push(one.bytes.subarray(1, Math.max(1, one.bytes.length - 1)), one.bytes);
          }
        }
        assert.deepEqual(to.take(), Buffer.concat(wanted));
      }),
    );
  });
});
