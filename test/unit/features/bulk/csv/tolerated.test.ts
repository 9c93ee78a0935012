import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { analyseList } from "../../../../support/analysed-list.ts";
import { readList } from "../../../../support/csv-corpus/read-list.ts";
import { sourceOf } from "../../../../support/csv-corpus/sources.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/lists/${name}`, import.meta.url));

async function found(list: Buffer, pieceBytes?: number) {
  const { found } = await analyseList(list, {}, pieceBytes);
  assert.ok(found.ok, JSON.stringify(found));
  return { rows: found.rows, malformed: found.malformed, warnings: found.warnings };
}

const LIST = "Email,Name\r\na@example.com,A\r\nb@example.com,B\r\n";

describe("bytes that do not belong in a list", () => {
  const lists: [string, Buffer, number, string, RegExp][] = [
    [
      "nul-small",
      fixture("nul-small"),
      2,
      "nul_bytes",
      /^The list holds 1 NUL byte, the first at byte 30: kept/,
    ],
    [
      "nul-trailing-pad",
      fixture("nul-trailing-pad"),
      60,
      "nul_padding",
      /^\d+ NUL bytes at the end of the list: ignored\.$/,
    ],
    [
      "gz-zero-pad",
      fixture("gz-zero-pad"),
      1,
      "gzip_padding",
      /^\d+ zero bytes behind the compressed data: ignored\.$/,
    ],
    ["ctrl-z-end", fixture("ctrl-z-end"), 1, "ctrl_z", /^A Ctrl-Z/],
    ["utf16le-odd-byte", fixture("utf16le-odd-byte"), 2, "odd_byte", /half of a character/],
    ["a Ctrl-Z in a line of its own", Buffer.from(`${LIST}\x1a\r\n`), 2, "ctrl_z", /^A Ctrl-Z/],
    [
      "padding of a UTF-16 list",
      Buffer.from(`\ufeff${LIST}\0\0\0`, "utf16le"),
      2,
      "nul_padding",
      /^3 NUL bytes/,
    ],
    ["padding in a compressed list", gzipSync(`${LIST}\0\0`), 2, "nul_padding", /^2 NUL bytes/],
    ["much padding", Buffer.from(LIST + "\0".repeat(500_000)), 2, "nul_padding", /^500000 NUL bytes/],
    [
      "one zero behind gzip",
      Buffer.concat([gzipSync(LIST), Buffer.alloc(1)]),
      2,
      "gzip_padding",
      /^1 zero byte /,
    ],
    [
      "a megabyte of zeros behind gzip",
      Buffer.concat([gzipSync(LIST), Buffer.alloc(1_048_576)]),
      2,
      "gzip_padding",
      /^1048576 zero bytes /,
    ],
  ];
  for (const [name, bytes, rows, code, detail] of lists) {
    it(`are read past and named: ${name}`, async () => {
      for (const pieceBytes of [undefined, 7, ...(bytes.length < 5_000 ? [1] : [])]) {
        const { warnings, ...counts } = await found(bytes, pieceBytes);
        assert.deepEqual(counts, { rows, malformed: 0 });
        assert.deepEqual(
          warnings.map((warning) => warning.code),
          [code],
        );
        assert.match(warnings[0]?.detail ?? "", detail);
      }
    });
  }

  it("are not named where there are none", async () => {
    for (const bytes of [Buffer.from(LIST), gzipSync(LIST), Buffer.from(`\ufeff${LIST}`, "utf16le")])
      assert.deepEqual((await found(bytes)).warnings, []);
  });

  it("are kept where they stand within the list", async () => {
    const filler = "c@example.com,C\r\n".repeat(500);
    const { rows, warnings } = await found(Buffer.from(`${LIST}d@example.com,\0\x1a\r\n\0\r\n${filler}`));
    assert.equal(rows, 504);
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["nul_bytes"],
    );
  });

  it("make a binary file no list", async () => {
    for (const bytes of [
      Buffer.from("a@example.com\n\x01\x02\0\0b"),
      Buffer.from(`a@example.com\n${"xx\0".repeat(6)}x`),
      Buffer.from("\x00\x01\x02\x03email\n"),
    ]) {
      const read = await readList(sourceOf([bytes]));
      assert.ok("code" in read, bytes.toString("latin1"));
      assert.equal(read.code, "not_csv");
    }
    const padded = await readList(sourceOf([Buffer.alloc(10_000)]));
    assert.ok("code" in padded);
    assert.equal(padded.code, "empty_source");
  });
});
