import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { createRecordScanner } from "../../../../../src/features/bulk/csv/scan.ts";
import type { ScanOptions } from "../../../../../src/features/bulk/csv/scan-types.ts";
import { valueAt } from "../../../../../src/features/bulk/csv/value-place.ts";
import { cut, hostileBytes, oracle } from "../../../../support/csv-corpus/hostile.ts";
import fc from "../../../../support/properties.ts";

interface Scanned {
  start: number;
  end: number;
  columns: number;
  address: string;
}

const BOUNDS = { delimiter: ",", emailColumn: 0, recordBytes: 1_000, columns: 100 };

function scan(pieces: readonly Buffer[], options: Partial<ScanOptions> = {}) {
  const records: Scanned[] = [];
  const scanner = createRecordScanner({ ...BOUNDS, ...options }, (start, end, columns, address) => {
    records.push({ start, end, columns, address: valueAt(address) });
  });
  let problem = pieces.reduce<ReturnType<typeof scanner.push>>((_, piece) => scanner.push(piece), undefined);
  problem = scanner.end() ?? problem;
  return { records, problem };
}

const pieceSizes = fc.array(fc.nat(12), { minLength: 1, maxLength: 8 });

describe("the record scanner", () => {
  it("agrees with csv-parse on every input, however it is cut", () => {
    const input = fc
      .constantFrom(",", ";", "\t", "|", " ", "a")
      .chain((delimiter) => fc.tuple(fc.constant(delimiter), hostileBytes(delimiter)));
    fc.assert(
      fc.property(input, fc.nat(3), pieceSizes, ([delimiter, bytes], emailColumn, sizes) => {
        agree(bytes, delimiter, emailColumn, sizes);
      }),
      { numRuns: 2_000 },
    );
  });
});

function agree(bytes: Buffer, delimiter: string, emailColumn: number, sizes: readonly number[]): void {
  const { records, problem } = scan(cut(bytes, sizes), { delimiter, emailColumn });
  const expected = oracle(bytes, delimiter);
  if (expected === "quote_not_closed") {
    assert.equal(problem?.code, "quote_not_closed");
    return;
  }
  assert.equal(problem, undefined);
  assert.deepEqual(
    records.map(({ columns, address }) => ({ columns, address })),
    expected.map((fields) => ({ columns: fields.length, address: fields[emailColumn] ?? "" })),
  );
  for (const [i, { start, end }] of records.entries()) {
    assert.deepEqual(parseRecords(bytes.subarray(start, end), { delimiter }), [expected[i]]);
    assert.ok(start >= (records[i - 1]?.end ?? 0));
  }
  const [first, last] = [records[0]?.start ?? 0, records.at(-1)?.end ?? 0];
  assert.deepEqual(parseRecords(bytes.subarray(first, last), { delimiter }), expected);
}

describe("a record beyond the scanner's bounds", () => {
  const cuts = [[1], [2], [3], [5], [7, 1], [10_000]];

  /** The same records and the same problem, however the bytes come. */
  function refusal(text: string, options: Partial<ScanOptions>) {
    const [first, ...others] = cuts.map((sizes) => scan(cut(Buffer.from(text), sizes), options));
    for (const other of others) assert.deepEqual(other, first);
    return { code: first?.problem?.code, records: first?.records.length, detail: first?.problem?.detail };
  }

  it("is refused by its bytes, its end included", () => {
    for (const end of ["\n", "\r", ""]) {
      const fits = `a\n${"b".repeat(10 - end.length)}${end}`;
      assert.equal(refusal(fits, { recordBytes: 10 }).code, undefined);
      assert.equal(refusal(fits, { recordBytes: 9 }).code, "record_too_large");
    }
    assert.equal(refusal("12345678\r\n", { recordBytes: 10 }).code, undefined);
    assert.equal(refusal("12345678\r\n", { recordBytes: 9 }).code, "record_too_large");
  });

  it("is said to be one of an open quote only where its bound is within one", () => {
    const hint = / The quote at byte 5 is still open there: /;
    for (const [text, isQuoted] of [
      ['a@b,\n"cccccccccc', true],
      ['a@b,\n"cccccccccc"\n', true],
      ['a@b,\n"ccc""ccccccccc"\n', true],
      ['a@b,\n"cccccc""c"\n', true],
      ['a@b,\n"cccccccc"\n', true],
      ['a@b,\n"cccccccc",d\n', true],
      ['a@b,\n"cccccc",ddd\n', false],
      ['a@b,\n"c",ddddddddd\n', false],
      ['a@b,\n"c",ddddd,"eeee"\n', false],
      ['a@b,\n"c",dddd,"e"\n', false],
      ["a@b,\ncccccccccccc", false],
    ] as const) {
      const { code, detail } = refusal(text, { recordBytes: 9 });
      assert.equal(code, "record_too_large", text);
      assert.equal(hint.test(detail ?? ""), isQuoted, `${text} ${detail}`);
      assert.match(detail ?? "", isQuoted ? hint : /bytes\.$/);
    }
  });

  it("is refused with its number and its place in the source", () => {
    const { detail, records } = refusal('a\n\nb\n"c\nddddddddddd"\ne', { recordBytes: 10, firstByte: 1_000 });
    assert.match(detail ?? "", /^Row 3, which begins at byte 1005, is longer than 10 bytes/);
    assert.equal(records, 2);
  });

  it("is refused by its columns", () => {
    assert.equal(refusal("a,b,c\na,b,", { columns: 3 }).code, undefined);
    const { code, records, detail } = refusal("a,b\na,b,c,d,e", { columns: 3, firstByte: 7 });
    assert.deepEqual([code, records], ["too_many_columns", 1]);
    assert.match(detail ?? "", /^Row 2, which begins at byte 11, has more than 3 columns/);
  });

  it("of both kinds is refused for what comes first", () => {
    assert.equal(refusal("a,b,c,dddddddddd\n", { columns: 3, recordBytes: 9 }).code, "record_too_large");
    assert.equal(refusal("a,b,c,d,eeeeeeee\n", { columns: 3, recordBytes: 9 }).code, "too_many_columns");
  });

  it("that is never closed is refused where its quote opened", () => {
    const { detail } = refusal('a,"b"\nc,"d\ne', { firstByte: 3 });
    assert.match(detail ?? "", /^The quote at byte 11, in row 2, is never closed/);
  });
});
