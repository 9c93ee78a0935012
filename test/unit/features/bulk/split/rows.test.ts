import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ScannedSource } from "../../../../../src/features/bulk/analysis/analyse.ts";
import { filterRows } from "../../../../../src/features/bulk/analysis/filter-rows.ts";
import { type Dialect, dialectOfResults } from "../../../../../src/features/bulk/csv/dialect.ts";
import { fieldsOf, toText } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { writeRecord } from "../../../../../src/features/bulk/csv/write.ts";
import type { JobMaterial } from "../../../../../src/features/bulk/results/job-results.ts";
import type { JoinedRow } from "../../../../../src/features/bulk/results/join.ts";
import { RESULT_COLUMNS } from "../../../../../src/features/bulk/results/result-cells.ts";
import { FORMATS, type Format, formatOf } from "../../../../../src/features/bulk/results/result-rows.ts";
import { RowFilter, type WantedRows } from "../../../../../src/features/bulk/results/row-filter.ts";
import { StoredResult, VERDICTS } from "../../../../../src/features/bulk/results/shard.ts";
import { joinValues } from "../../../../../src/features/bulk/split/joined-cells.ts";
import { readMark } from "../../../../../src/features/bulk/split/mark.ts";
import { readAddresses } from "../../../../../src/verification/address/addresses-in.ts";
import type { Verdict } from "../../../../../src/verification/verdict/table.ts";
import fc from "../../../../support/properties.ts";
import { scanned } from "../../../../support/split-list.ts";

/** A list as it was analysed, and the text in which its records lie. */
interface Analysed extends ScannedSource {
  text: Buffer;
}

interface Asked {
  splitCells: boolean;
  dialect: Dialect;
  pieceBytes?: number;
}

async function analysed(bytes: Buffer, { splitCells, dialect, pieceBytes }: Asked): Promise<Analysed> {
  const { delimiter, escapedBy } = dialect;
  const options = {
    ...{ emailColumn: 1, hasHeader: true, delimiter },
    ...(escapedBy === undefined ? {} : { escape: escapedBy }),
  };
  const { read, text } = await scanned(bytes, { options, splitCells, pieceBytes });
  assert.ok(read.ok, JSON.stringify(read));
  return { ...read, text };
}

/** Values of results, in turn, with characters that have a meaning in cells of several addresses. */
const REASONS = ["one;two\\", "one", "two"];
const PROVIDERS = ["a;b", null, "\\"];
const CELLS = RESULT_COLUMNS.length;

/** Result of a record; its number distinguishes it from others. */
function resultOf(number: number, email: string, verdict: Verdict, style: Dialect): StoredResult {
  const reason = REASONS[number % REASONS.length] as string;
  const provider = PROVIDERS[number % PROVIDERS.length] ?? null;
  const cells = [verdict, reason, `${number}`, email, "", "", "", "", provider ?? ""];
  const csv = Buffer.from(
    style.delimiter + writeRecord(cells, { ...style, columns: CELLS, escapeFormulas: false }),
    "latin1",
  );
  const checks = { mx: { provider } };
  const json = Buffer.from(JSON.stringify({ email: toText(email), verdict, reason, checks, number }));
  return new StoredResult(verdict, Buffer.concat([csv, json]), 0, csv.length, csv.length + json.length);
}

const verdictOf = (number: number) => VERDICTS[(number * 7) % VERDICTS.length] as Verdict;

/** The records of the chunks, each with its result, as a join gives them. */
function joinedOf({ text, chunks, layout }: Analysed): JoinedRow[] {
  const style = dialectOfResults(layout);
  return chunks.flatMap(({ firstRow, firstByte, bytes, rows }) => {
    const lines = findLines(text.subarray(firstByte, firstByte + bytes), layout, rows);
    assert.equal(lines.count, rows);
    return Array.from({ length: rows }, (_, offset) => {
      const number = firstRow + offset;
      const email = fieldsOf(lineAt(lines, offset), layout)[layout.emailColumn] ?? "";
      const result = resultOf(number, email, verdictOf(number), style);
      const mark = readMark(lines.bytes, lines.from[offset] as number, layout.delimiter);
      const row = layout.split === undefined ? number : mark.row;
      return { row, lines, offset, duplicateOf: number % 5 === 4 ? 0 : null, result };
    });
  });
}

function materialOf({ layout, rows }: Analysed): JobMaterial {
  const place = { bucket: null, key: "rows", etag: null };
  const ids = { jobId: "job_1", teamId: "team_1", status: "processing" as const, place };
  return { ...ids, layout, rows, escapeFormulas: false, withEvidence: false, hasColumns: true };
}

/** Rows of a job as results, given to the writer so many at a time. */
function written(list: Analysed, rows: readonly JoinedRow[], format: Format, atOnce = 3): Buffer {
  const writer = formatOf(format, materialOf(list));
  const parts: Buffer[] = [writer.start];
  for (let at = 0; at < rows.length; at += atOnce) parts.push(writer.rows(rows.slice(at, at + atOnce)));
  return Buffer.concat([...parts, writer.end()]);
}

/** The cells that a row's results are written as. */
const now = async (work: () => void) => work();

function cellsOf(results: readonly JoinedRow["result"][], style: Dialect): string {
  const values = results.map((result) => fieldsOf(result.csv.toString("latin1").slice(1), style));
  const joined = RESULT_COLUMNS.map((_, i) => joinValues(values.map((of) => of[i] ?? "")));
  return style.delimiter + writeRecord(joined, { ...style, columns: CELLS, escapeFormulas: false });
}

const addresses = ["a@x.test", "b@y.test", "ü@exämple.com", '"q;r"@x.test', "c@z.test", "o'neil@x.test"];
const cell = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...addresses) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.array(fc.constantFrom(...addresses), { minLength: 2, maxLength: 6 }),
        fc.constantFrom(", ", "; ", " ", "\n", "/"),
      )
      .map(([of, by]) => of.join(by)),
  },
  fc.constantFrom("", " ", "no address", "Jane <a@x.test>", "a@", "=1+1", 'say "a@x.test, b@x.test"'),
);
const other = fc.oneof(
  fc.constantFrom("", "x", " x ", 'a "b"', "x,y;z", "two\r\nlines", "C:\\temp\\", "\\", "é"),
  fc.string({ unit: "grapheme", maxLength: 5 }).map((text) => text.replaceAll("\0", "")),
);
const lists = fc.record({
  rows: fc.array(fc.tuple(other, cell, fc.array(other, { maxLength: 2 })), { minLength: 1, maxLength: 25 }),
  end: fc.constantFrom("\n", "\r\n", "\r", "\n\n"),
  lastEnd: fc.boolean(),
  bom: fc.boolean(),
  dialect: fc.constantFrom<Dialect>(
    { delimiter: "," },
    { delimiter: ";" },
    { delimiter: "\t" },
    { delimiter: ",", escapedBy: "\\" },
  ),
  pieceBytes: fc.constantFrom(1, 7, 64, 65_536),
  wanted: fc.record({
    verdict: fc.option(fc.constantFrom(...VERDICTS)),
    reason: fc.option(fc.constantFrom(...REASONS)),
    provider: fc.option(fc.constantFrom("a;b", "\\", "a")),
  }),
  limit: fc.option(fc.integer({ min: 1, max: 4 })),
  answered: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
  atOnce: fc.integer({ min: 1, max: 5 }),
});
type List = typeof lists extends fc.Arbitrary<infer T> ? T : never;

function bytesOf({ rows, end, lastEnd, bom, dialect }: List): Buffer {
  const bytes = (text: string) => Buffer.from(text).toString("latin1");
  const style = { ...dialect, columns: 2, escapeFormulas: false };
  const first = ["name", "plain@first.test", "note"];
  const all = [first, ...rows.map(([name, email, more]) => [name, email, ...more])];
  const records = all.map((record) => writeRecord(record.map(bytes), style)).join(end);
  const header = writeRecord(["a,b;c;\td", "email", "note"], style);
  return Buffer.from(`${bom ? "\xef\xbb\xbf" : ""}${header}${end}${records}${lastEnd ? end : ""}`, "latin1");
}

/** Texts that the cell of a record is verified as. */
function textsIn(email: string): readonly string[] {
  const reading = readAddresses(toText(email));
  return reading.kind === "several" ? reading.texts : [toText(email)];
}

/** By the JSON of the result. */
function isWanted({ verdict, reason, provider }: List["wanted"], { result }: JoinedRow): boolean {
  const found = JSON.parse(String(result.json));
  return (
    (verdict === null || found.verdict === verdict) &&
    (reason === null || found.reason === reason) &&
    (provider === null || found.checks.mx.provider === provider)
  );
}

const linesOf = (jsonl: Buffer) =>
  jsonl
    .toString()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe("results of a list whose cells were split", () => {
  it("have its rows as they would stand without that, byte for byte, with all that their addresses came to", () =>
    fc.assert(
      fc.asyncProperty(lists, async (list) => {
        const bytes = bytesOf(list);
        const whole = await analysed(bytes, { ...list, splitCells: false });
        const split = await analysed(bytes, { ...list, splitCells: true });
        const rows = joinedOf(whole);
        const records = joinedOf(split);
        const style = dialectOfResults(split.layout);
        const none = new StoredResult("valid", Buffer.from("{"), 0, 0, 1);
        let next = 0;
        const groups = rows.map((row) => {
          const texts = textsIn(fieldsOf(lineAt(row.lines, row.offset), whole.layout)[1] ?? "");
          const of = records.slice(next, next + texts.length);
          next += texts.length;
          return { row, texts, of };
        });
        assert.equal(next, records.length);
        assert.deepEqual([split.columns, split.rows], [whole.columns, records.length]);
        const csv = groups.map(({ row, of }) => {
          const columns = written(whole, [{ ...row, result: none }], "csv").toString("latin1");
          const start = formatOf("csv", materialOf(whole)).start.toString("latin1");
          const cells = cellsOf(
            of.map(({ result }) => result),
            style,
          );
          return `${columns.slice(start.length, -2)}${cells}\r\n`;
        });
        const start = formatOf("csv", materialOf(whole)).start.toString("latin1");
        assert.equal(written(split, records, "csv", list.atOnce).toString("latin1"), start + csv.join(""));
        const shown = linesOf(written(whole, rows, "jsonl"));
        const lines = linesOf(written(split, records, "jsonl", list.atOnce));
        assert.equal(lines.length, rows.length);
        for (const [i, { texts, of }] of groups.entries()) {
          const { row, input, columns } = lines[i];
          assert.deepEqual([row, input, columns], [shown[i].row, shown[i].input, shown[i].columns]);
          const parts = texts.length === 1 ? [{ ...lines[i], input: texts[0] }] : lines[i].parts;
          for (const [k, { result, duplicateOf }] of of.entries()) {
            const { number, email, verdict } = JSON.parse(String(result.json));
            const { input: text, duplicate_of, ...rest } = parts[k];
            assert.deepEqual([text, duplicate_of], [texts[k], duplicateOf === null ? null : duplicateOf + 1]);
            assert.deepEqual([rest.number, rest.email, rest.verdict], [number, email, verdict]);
          }
        }
      }),
      { numRuns: 150 },
    ));

  it("filtered out of the whole are what is filtered before it is written, also where parts have no answer", () =>
    fc.assert(
      fc.asyncProperty(lists, async (list) => {
        const split = await analysed(bytesOf(list), { ...list, splitCells: true });
        const { wanted: asked, limit, answered, pieceBytes, atOnce } = list;
        const filter = new RowFilter(asked as WantedRows);
        const records = joinedOf(split).filter((_row, i) => answered[i % answered.length] === true);
        for (const format of FORMATS) {
          const whole = written(split, records, format);
          const pieces = (async function* () {
            for (let at = 0; at < whole.length; at += pieceBytes) yield whole.subarray(at, at + pieceBytes);
          })();
          const got: Buffer[] = [];
          for await (const part of filterRows(pieces, { format, filter, limit }, materialOf(split), now))
            got.push(part);
          const all = records.filter((record) => isWanted(asked, record));
          const rows = [...new Set(all.map(({ row }) => row))].slice(0, limit ?? all.length);
          const wanted = all.filter(({ row }) => rows.includes(row));
          assert.equal(
            Buffer.concat(got).toString("latin1"),
            written(split, wanted, format, atOnce).toString("latin1"),
          );
        }
      }),
      { numRuns: 100 },
    ));
});
