import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import { latin1, oracle } from "../../../../support/csv-corpus/hostile.ts";
import fc from "../../../../support/properties.ts";

const STYLE = { delimiter: ",", columns: 0, escapeFormulas: false };

describe("a written record", () => {
  const records: [readonly string[], string][] = [
    [["a", "b@c.de"], "a,b@c.de"],
    [["a,b", 'say "hi"', "two\r\nlines", "cr\r", "lf\n"], '"a,b","say ""hi""","two\r\nlines","cr\r","lf\n"'],
    [[" a", "b ", "c d", "\t"], '" a","b ",c d,\t'],
    [["a;b|c\td"], "a;b|c\td"],
    [[""], '""'],
    [[], '""'],
    [["", ""], ","],
  ];
  for (const [values, record] of records) {
    it(`of ${JSON.stringify(values)} is ${JSON.stringify(record)}`, () => {
      assert.equal(writeRecord(values, STYLE), record);
    });
  }

  it("has as many columns as it shall, and never fewer than it has values", () => {
    const padded = (values: readonly string[], columns: number) => writeRecord(values, { ...STYLE, columns });
    assert.equal(padded(["a"], 3), "a,,");
    assert.equal(padded([], 3), ",,");
    assert.equal(padded([""], 2), ",");
    assert.equal(padded(["", ""], 1), ",");
    assert.equal(padded(["a", "b", "c"], 2), "a,b,c");
    assert.equal(padded(["a"], 1), "a");
  });

  it("is read as the same values, whatever they are", () => {
    const value = fc.string({
      unit: fc.oneof(latin1, fc.constantFrom('"', ",", ";", "\r", "\n", " ")),
      maxLength: 12,
    });
    const table = fc.array(fc.array(value, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
    const delimiters = fc.constantFrom(",", ";", "\t", "|", " ", "a");
    fc.assert(
      fc.property(
        table,
        delimiters,
        fc.nat(8),
        fc.constantFrom("\r\n", "\n", "\r"),
        (rows, delimiter, columns, end) => {
          const text = rows.map((row) => writeRecord(row, { ...STYLE, delimiter, columns }) + end).join("");
          const padded = rows.map((row) => [...row, ...Array(Math.max(0, columns - row.length)).fill("")]);
          assert.deepEqual(oracle(Buffer.from(text, "latin1"), delimiter), padded);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe("the guard against formulas", () => {
  const guarded = (value: string) => writeRecord([value, "x"], { ...STYLE, escapeFormulas: true });
  const dangerous: [string, string][] = [
    ["=1+1", "'=1+1,x"],
    ["+1+1", "'+1+1,x"],
    ["-2+3", "'-2+3,x"],
    ["@SUM(A1)", "'@SUM(A1),x"],
    ["\t=1", "'\t=1,x"],
    ["\r=1", '"\'\r=1",x'],
    ["\n=1", '"\'\n=1",x'],
    ["  =1", "'  =1,x"],
    ['"=1', '"\'""=1",x'],
    [";=1", "';=1,x"],
    [',"=1', '"\',""=1",x'],
    ['=cmd|"/c calc"!A0', '"\'=cmd|""/c calc""!A0",x'],
    ["\xef\xbc\x9d1", "'\xef\xbc\x9d1,x"],
    ["-5-5", "'-5-5,x"],
    ["=a@example.com", "'=a@example.com,x"],
  ];
  for (const [value, record] of dangerous) {
    it(`puts an apostrophe before ${JSON.stringify(value)}`, () => assert.equal(guarded(value), record));
  }

  it("leaves plain numbers and all that begins harmlessly", () => {
    for (const value of [
      "-5",
      "+3.2",
      "-1,5",
      "+491701234567",
      "-1e9",
      "",
      "a=b",
      "jo@example.com",
      "'=1",
      "1-1",
    ]) {
      assert.equal(oracle(Buffer.from(guarded(value)), ",")[0]?.[0], value);
    }
  });

  it("is off unless it is asked for", () => {
    for (const [value] of dangerous) {
      const record = writeRecord([value], STYLE);
      assert.equal(oracle(Buffer.from(record, "latin1"), ",")[0]?.[0], value);
    }
  });
});
