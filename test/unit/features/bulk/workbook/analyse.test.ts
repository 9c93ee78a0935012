import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { analyseSource } from "../../../../../src/features/bulk/analysis/analyse.ts";
import type { SourceOptions } from "../../../../../src/features/bulk/analysis/layout.ts";
import { openText } from "../../../../../src/features/bulk/csv/encoding/decode.ts";
import { parseRecords } from "../../../../../src/features/bulk/csv/parse.ts";
import { randomBytes, scratch } from "../../../../support/open-workbook.ts";
import { createTestScratch } from "../../../../support/scratch.ts";
import { workbookOf } from "../../../../support/workbook.ts";

/** Analyses a sheet, and gives its rows as they will be verified. */
async function analyse(rows: readonly (readonly string[])[], options: SourceOptions = {}) {
  const bytes = workbookOf({ sheets: [{ name: "List", rows }] });
  async function* source() {
    yield bytes;
  }
  const text: Buffer[] = [];
  const found = await analyseSource(
    source(),
    { ...options, workbook: { at: async () => randomBytes(bytes), scratch } },
    { rows: 100_000, bytes: 10_000_000 },
    {
      repeats: { add: () => null },
      rewrite: () => ({ write: async (piece) => void text.push(Buffer.from(piece)) }),
    },
    new AbortController().signal,
  );
  assert.ok(found.ok, JSON.stringify(found));
  assert.ok(found.rewritten);
  const all = Buffer.concat(text);
  const records = found.chunks.flatMap(({ firstByte, bytes: length }) =>
    parseRecords(all.subarray(firstByte, firstByte + length), found.layout),
  );
  const utf8 = (field: string | undefined) => Buffer.from(field ?? "", "latin1").toString();
  return { ...found, records: records.map((record) => record.map(utf8)) };
}

const emails = ({ records, layout }: Awaited<ReturnType<typeof analyse>>) =>
  records.map((record) => record[layout.emailColumn]);

describe("a sheet as a list", () => {
  const contacts = Array.from({ length: 30 }, (_, i) => [`Name ${i}`, `exists${i}@ok.test`, `Note ${i}`]);
  const expected = contacts.map(([, email]) => email);

  it("has its column of addresses, titles, blank rows and footers found as others", async () => {
    const found = await analyse([
      ["Export of 2024"],
      [],
      ["Name", "Business Email", "Notes"],
      ...contacts,
      [],
      ["Copyright Example Ltd"],
    ]);
    assert.deepEqual(emails(found), expected);
    assert.deepEqual(found.columns.email, { index: 1, name: "Business Email", chosen_by: "header" });
    assert.deepEqual(found.columns.sheet, { index: 0, name: "List", others: [] });
    assert.deepEqual(
      found.columns.skipped_lines.map(({ line, text }) => [line, text]),
      [
        [1, "Export of 2024"],
        [35, "Copyright Example Ltd"],
      ],
    );
  });

  it("is a table whatever its cells hold: its quotes are right", async () => {
    const nasty = [
      'x@other.test,y\nz@other.test,q\nw@other.test,"r',
      'C:\\dir\\", "quoted" \\',
      '"',
      `${"line of prose\n".repeat(50)}end`,
      "sep=;",
      "a;b|c\td",
      "\\N",
    ];
    const rows = contacts.map(([name = "", email = ""], i) => [name, email, nasty[i % nasty.length] ?? ""]);
    const found = await analyse([["Name", "Email", "Notes"], ...rows]);
    assert.deepEqual(found.records, rows);
  });

  it("may begin like another kind of file", async () => {
    for (const first of ["%PDF-", "PK_x0003__x0004_", '{"a": 1}', "<?xml version", "sep=;", "BZh91AY&SY"]) {
      const found = await analyse([
        [first, "Email"],
        ...contacts.map(([name = "", email = ""]) => [name, email]),
      ]);
      assert.deepEqual(emails(found), expected, first);
    }
  });

  it("leaves no scratch file open, read to its end or not", async () => {
    const own = createTestScratch();
    const rows = Array.from({ length: 30_000 }, (_, i) => [`exists${i}@${"x".repeat(400)}.test`]);
    const bytes = workbookOf({ sheets: [{ name: "List", rows }] });
    const at = async () => randomBytes(bytes);
    async function* source() {
      yield bytes;
    }
    const limits = { decompressedBytes: 1e9, sampleBytes: 1_000 };
    for (const end of ["close", "leave", "read"] as const) {
      const opened = await openText(source(), limits, { workbook: { at, scratch: own } });
      assert.ok(opened.ok);
      assert.ok((own.openFiles() ?? 1) > 0);
      if (end === "close") await opened.close();
      else for await (const piece of opened.text) if (end === "leave" && piece.length > 0) break;
      assert.equal(own.openFiles() ?? 0, 0, end);
    }
    const refused = await openText(
      source(),
      { ...limits, decompressedBytes: 9_000_000 },
      { workbook: { at, scratch: own } },
    );
    assert.ok(!refused.ok && refused.code === "bulk_too_large");
    assert.equal(own.openFiles() ?? 0, 0);
    own.remove();
  });

  it("is written with the delimiter that its owner names", async () => {
    const found = await analyse([["Name", "Email", "Notes"], ...contacts], { delimiter: ";" });
    assert.deepEqual([found.layout.delimiter, emails(found)], [";", expected]);
  });
});
