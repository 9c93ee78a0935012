import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRecords } from "../../../../../src/services/bulk/csv/parse.ts";
import { hostileBytes, oracle } from "../../../../support/csv-corpus/hostile.ts";
import fc from "../../../../support/properties.ts";

describe("parsed records", () => {
  it("are those of csv-parse, in their order, whatever their widths", () => {
    fc.assert(
      fc.property(hostileBytes(","), fc.array(hostileBytes(","), { maxLength: 4 }), (bytes, more) => {
        const text = Buffer.concat([bytes, ...more]);
        const expected = oracle(text, ",");
        if (expected === "quote_not_closed") assert.throws(() => parseRecords(text, ","), /Quote Not Closed/);
        else assert.deepEqual(parseRecords(text, ","), expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it("of many widths cost no error each", (test) => {
    const rows = Array.from({ length: 1_000 }, (_, i) => ["a", ...Array<string>(i % 7).fill("b")]);
    const bytes = Buffer.from(rows.map((row) => row.join(",")).join("\r"));
    const errors = test.mock.method(Error, "captureStackTrace");
    oracle(bytes, ",");
    assert.ok(errors.mock.callCount() > 800, "csv-parse makes none any more: read all records at once");
    errors.mock.resetCalls();
    assert.deepEqual(parseRecords(bytes, ","), rows);
    assert.equal(errors.mock.callCount(), 0);
  });
});
