import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { isDelimiter } from "../../../../../src/features/bulk/csv/dialect.ts";
import { readMark, writeMark } from "../../../../../src/features/bulk/split/mark.ts";

const DELIMITERS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(isDelimiter);

describe("the mark of a record", () => {
  it("reads as it was written, whatever parts the fields", () => {
    assert.ok(DELIMITERS.length > 90);
    for (const delimiter of DELIMITERS)
      for (const row of [0, 1, 9, 10, 1_234_567_890 % LIMITS.bulk.rows, LIMITS.bulk.rows - 1])
        for (const isPart of [false, true]) {
          const mark = writeMark(row, isPart, delimiter);
          assert.ok(!mark.includes(delimiter) && !/["\\\s]/.test(mark), mark);
          const bytes = Buffer.from(`x${mark}${delimiter}12${delimiter}`);
          assert.deepEqual(readMark(bytes, 1, delimiter), { row, isPart });
        }
  });
});
