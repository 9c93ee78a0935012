import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { hostileBytes, oracle } from "../../../../support/csv-corpus/hostile.ts";
import fc from "../../../../support/properties.ts";

describe("parsed records", () => {
  it("are those of csv-parse, in their order, whatever their widths", () => {
    fc.assert(
      fc.property(hostileBytes(","), fc.array(hostileBytes(","), { maxLength: 4 }), (bytes, more) => {
        const text = Buffer.concat([bytes, ...more]);
        const expected = oracle(text, ",");
        if (expected === "quote_not_closed")
          assert.throws(() => parseRecords(text, { delimiter: "," }), /is never closed/);
        else assert.deepEqual(parseRecords(text, { delimiter: "," }), expected);
      }),
      { numRuns: 1_000 },
    );
  });
});
