import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { fieldsOf } from "../../../../../src/features/bulk/csv/field.ts";
import { findLines, lineAt } from "../../../../../src/features/bulk/csv/lines.ts";
import { type Asked, scanned } from "../../../../support/split-list.ts";

/** The records of the chunks: mark, address, and the row as it stood. */
async function split(list: string | Buffer, asked: Partial<Asked> = {}) {
  const bytes = typeof list === "string" ? Buffer.from(list) : list;
  const { read, keys, text } = await scanned(bytes, { splitCells: true, ...asked });
  assert.ok(read.ok, JSON.stringify(read));
  const { chunks, layout } = read;
  const records = chunks.flatMap(({ firstByte, bytes: length, rows }) => {
    const lines = findLines(text.subarray(firstByte, firstByte + length), layout, rows);
    assert.equal(lines.count, rows);
    return Array.from({ length: rows }, (_, i) => fieldsOf(lineAt(lines, i), layout));
  });
  return { ...read, keys, text: text.toString("latin1"), records };
}

async function refused(list: string, asked: Partial<Asked>) {
  const { read } = await scanned(Buffer.from(list), { splitCells: true, ...asked });
  assert.ok(!read.ok);
  return read;
}

const LIST = 'name,email\nA,"a@x.test, b@x.test"\nB,c@x.test\nC,\nD,none\n';
const REWRITTEN =
  '1,a@x.test,A,"a@x.test, b@x.test"\n1,b@x.test,A,"a@x.test, b@x.test"\n2,c@x.test,B,c@x.test\n4,,C,\n6,none,D,none\n';

/** Lists that end, or hold, what a rewriting could lose. @returns of each record its mark, address, first field */
const EDGES: [what: string, list: string, records: string[][]][] = [
  [
    "no line end",
    "name,email\nA,a@x.test b@x.test",
    [
      ["1", "a@x.test", "A", "a@x.test b@x.test"],
      ["1", "b@x.test", "A", "a@x.test b@x.test"],
    ],
  ],
  [
    "blank lines, a footer, and bare CRs",
    "name,email\r\r\rA,a@x.test;b@x.test\r\r\rB,c@x.test\r\rTotal: 2 rows",
    [
      ["1", "a@x.test", "A", "a@x.test;b@x.test"],
      ["1", "b@x.test", "A", "a@x.test;b@x.test"],
      ["2", "c@x.test", "B", "c@x.test"],
    ],
  ],
  [
    "a row that was taken for a footer",
    "name,email,n\nA,a@x.test;b@x.test,1\n\nTotal: 2\nB,c@x.test,2\n",
    [
      ["1", "a@x.test", "A", "a@x.test;b@x.test", "1"],
      ["1", "b@x.test", "A", "a@x.test;b@x.test", "1"],
      ["2", "", "Total: 2"],
      ["4", "c@x.test", "B", "c@x.test", "2"],
    ],
  ],
  [
    "quoted local parts and repeats",
    'name,email\nA,"""p;q""@x.test, a@x.test, A@X.test, a@x.test"\n',
    [
      ["1", '"p;q"@x.test', "A", '"p;q"@x.test, a@x.test, A@X.test, a@x.test'],
      ["1", "a@x.test", "A", '"p;q"@x.test, a@x.test, A@X.test, a@x.test'],
      ["1", "A@X.test", "A", '"p;q"@x.test, a@x.test, A@X.test, a@x.test'],
    ],
  ],
];

describe("a list whose cells are split", () => {
  for (const pieceBytes of [1, 5, 65_536])
    it(`has a record for each address, and its rows behind them, in pieces of ${pieceBytes}`, async () => {
      const found = await split(LIST, { pieceBytes });
      assert.equal(found.text, REWRITTEN);
      assert.deepEqual([found.rows, found.malformed, found.empty, found.rewritten], [5, 1, 1, true]);
      assert.deepEqual(found.keys, ["0 a@x.test", "1 b@x.test", "2 c@x.test"]);
      const { emailColumn, split: was, header, columns } = found.layout;
      assert.deepEqual([emailColumn, was, header, columns], [1, { emailColumn: 1 }, ["name", "email"], 2]);
      assert.deepEqual(found.columns.email, { index: 1, name: "email", chosen_by: "header" });
    });

  for (const [what, bytes] of [
    ["gzip", gzipSync(LIST)],
    ["UTF-16", Buffer.from(`\ufeff${LIST}`, "utf16le")],
  ] as const)
    it(`is the same of ${what}`, async () => assert.equal((await split(bytes)).text, REWRITTEN));

  for (const [what, list, records] of EDGES)
    for (const pieceBytes of [1, 65_536])
      it(`keeps ${what}, in pieces of ${pieceBytes}`, async () =>
        assert.deepEqual((await split(list, { pieceBytes })).records, records));

  it("has quotes that are text as they stood, and splits no address that needs one to stand there", async () => {
    const rows = [
      '1,a@x.test b@x.test,"odd',
      '2,c@x.test,5" disk',
      '3,"p q"@x.test d@x.test,"x',
      "4,e@x.test,y",
    ];
    const found = await split(`id,email,note\n${rows.join("\n")}\n`);
    assert.equal(found.layout.quotes, "text");
    assert.deepEqual(found.records, [
      ["1", "a@x.test", "1", "a@x.test b@x.test", '"odd'],
      ["1", "b@x.test", "1", "a@x.test b@x.test", '"odd'],
      ["2", "c@x.test", "2", "c@x.test", '5" disk'],
      ["5", '"p q"@x.test', "3", '"p q"@x.test d@x.test', '"x'],
      ["5", "d@x.test", "3", '"p q"@x.test d@x.test', '"x'],
      ["6", "e@x.test", "4", "e@x.test", "y"],
    ]);
  });

  it("in another encoding has its columns' bytes, and each address of a cell where these are ASCII", async () => {
    // 表 in Shift_JIS, whose second byte is a backslash, and the full-width comma.
    const [name, comma, letter] = ["\x95\x5c", "\x81\x43", "\x83\x41"];
    const cells = [`a@x.test${comma}b@x.test`, `a@x.test ${letter}@x.test`, "c@x.test"];
    const rows = cells.map((cell) => `${name}|${cell}|${name}\n`);
    const list = Buffer.from(`name|email|note\n${rows.join("")}`, "latin1");
    const found = await split(list, { options: { charset: "shift_jis", delimiter: "|" } });
    assert.deepEqual(found.records, [
      ["1", "a@x.test", name, cells[0], name],
      ["1", "b@x.test", name, cells[0], name],
      ["2", cells[1], name, cells[1], name],
      ["4", "c@x.test", name, cells[2], name],
    ]);
    assert.equal(found.malformed, 1);
  });

  it("escapes what would escape a line end that the list has not", async () => {
    for (const end of ["\\", "\\\\", "\\\n", "", "\\\r\n", "\\\\\n"]) {
      const list = `id,email,note\n1,a@x.test b@x.test,x${end}`;
      const options = { escape: "\\", emailColumn: 1, delimiter: "," } as const;
      const plain = await scanned(Buffer.from(list), { options, splitCells: false });
      assert.ok(plain.read.ok);
      const { firstByte = 0, bytes = 0 } = plain.read.chunks[0] ?? {};
      const lines = findLines(plain.text.subarray(firstByte, firstByte + bytes), plain.read.layout, 1);
      const row = fieldsOf(lineAt(lines, 0), plain.read.layout);
      const { records } = await split(list, { options });
      assert.deepEqual(records, [
        ["1", "a@x.test", ...row],
        ["1", "b@x.test", ...row],
      ]);
    }
  });

  it("reads every separator of a real list", async () => {
    const found = await split(readFileSync("test/fixtures/lists/multi-in-cell.csv"));
    assert.deepEqual(
      found.records.map(([, address]) => address),
      Array.from({ length: 10 }, (_, i) => `exists${i + 1}@ok.test`),
    );
  });

  it("leaves a cell whole that has more addresses than are verified", async () => {
    const { cellAddresses } = LIMITS.bulk;
    const cell = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@x.test`).join(" ");
    const found = await split(`email\n${cell(cellAddresses)}\n${cell(cellAddresses + 1)}\n`);
    assert.deepEqual([found.rows, found.malformed], [cellAddresses + 1, 1]);
    assert.deepEqual(found.records.at(-1), ["2", cell(cellAddresses + 1), cell(cellAddresses + 1)]);
  });

  it("is bound by its addresses and by its bytes, a row counted once for each", async () => {
    const list = `email,note\n${"a@x.test b@x.test,n\n".repeat(10)}`;
    assert.deepEqual((await refused(list, { bounds: { rows: 19 } })).code, "bulk_too_large");
    assert.equal((await split(list, { bounds: { rows: 20 } })).rows, 20);
    const bytes = list.length + 10 * "a@x.test b@x.test,n\n".length;
    for (const pieceBytes of [7, 65_536]) {
      const { code, detail } = await refused(list, { pieceBytes, bounds: { bytes: bytes - 1 } });
      assert.deepEqual([code, /once for each address/.test(detail)], ["bulk_too_large", true]);
      assert.equal((await split(list, { pieceBytes, bounds: { bytes } })).rows, 20);
    }
  });

  it("keeps no more of a list than the piece and a record, however many line ends are between", async () => {
    const blank = Buffer.alloc(3_000_000, "\n");
    const list = Buffer.concat([Buffer.from("email\na@x.test b@x.test"), blank, Buffer.from("c@x.test")]);
    const found = await split(list);
    assert.deepEqual(
      found.records.map(([mark]) => mark),
      ["1", "1", "2"],
    );
    assert.ok(found.text.length < 200, `${found.text.length}`);
  });
});
