import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { SourceOptions } from "../../../../../src/features/bulk/analysis/layout.ts";
import { cut } from "../../../../support/csv-corpus/hostile.ts";
import { readList } from "../../../../support/csv-corpus/read-list.ts";
import { type CountedSource, repeated, sourceOf } from "../../../../support/csv-corpus/sources.ts";

const MIB = 1_048_576;

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

async function refused(
  source: Buffer | CountedSource,
  code: string,
  detail: RegExp,
  options?: SourceOptions,
): Promise<void> {
  const read = await readList(Buffer.isBuffer(source) ? sourceOf([source]) : source, options);
  assert.ok("code" in read, "it was read");
  assert.equal(read.code, code, read.detail);
  assert.match(read.detail, detail);
  assert.ok(read.detail.length < 1_200, `${read.detail.length} characters of detail`);
}

describe("what is no list is refused by its kind", () => {
  const kinds: [string, Buffer, RegExp][] = [
    [
      "an Excel workbook",
      latin1(`PK\x03\x04\x14\x00\x06\x00${"\0".repeat(20)}[Content_Types].xml...xl/workbook.xml`),
      /Excel workbook.*Upload the workbook itself/,
    ],
    [
      "a Word document",
      latin1("PK\x03\x04\x14\x00\x06\x00[Content_Types].xml...word/document.xml"),
      /Office document/,
    ],
    [
      "an OpenDocument table",
      latin1("PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet"),
      /OpenDocument.*save it as CSV/,
    ],
    ["a zipped list", latin1("PK\x03\x04\x14\x00\x00\x00\x08\x00list.csv\x01\x02"), /ZIP.*CSV file itself/],
    ["an old workbook", latin1(`\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1${"\0".repeat(100)}`), /\.xls/],
    ["a PDF", latin1("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\na@example.com"), /PDF/],
    ["a PNG", latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), /image/],
    ["a JPEG", latin1("\xff\xd8\xff\xe0\0\x10JFIF\0"), /image/],
    ["a web page", latin1("\n<!DOCTYPE html>\n<html><body>Sign in, a@example.com</body></html>"), /web page/],
    ["an XHTML page", latin1('<!DOCTYPE svg PUBLIC "-">\n<p>a@example.com</p>'), /web page/],
    [
      "an XML document",
      latin1('\xef\xbb\xbf<?xml version="1.0"?>\n<r><e>a@example.com</e></r>\n'),
      /XML.*Save the list as CSV/,
    ],
    [
      "a JSON array of objects",
      latin1('[{"email":"a@example.com"},\n{"email":"b@example.com"}]\n'),
      /is JSON,/,
    ],
    [
      "a JSON array of addresses",
      latin1('[\n  "a@example.com",\n  "b@example.com"\n]\n'),
      /is JSON,.*each line/,
    ],
    [
      "JSON Lines",
      latin1('{"id": 1, "email":"a@example.com"}\n{"id": 2, "email":"b@example.com"}\n'),
      /JSON object on each line/,
    ],
    ["a Parquet file", latin1("PAR1\x15\x04\x15"), /Parquet/],
    ["UTF-32", latin1("\xff\xfe\0\0a\0\0\0@\0\0\0"), /UTF-32/],
    ["a list compressed twice", gzipSync(gzipSync("a@example.com\n")), /twice/],
    ["zeros before text", Buffer.concat([Buffer.alloc(5_000), latin1("x")]), /binary/],
    [
      "random bytes",
      Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * i * 31 + (i >> 3)) & 0xff)),
      /binary/,
    ],
    [
      "a header with a NUL",
      latin1(`email,na\0me\n${"a@example.com,b\n".repeat(500)}`),
      /header holds binary/,
    ],
    ["an address with NULs", latin1("a@\0\0\0\0example.com\n"), /binary/],
  ];
  for (const [name, bytes, detail] of kinds) {
    it(name, async () => {
      await refused(bytes, "not_csv", detail);
      await refused(gzipSync(bytes), "not_csv", detail);
    });
  }
});

describe("a list without rows", () => {
  for (const text of ["", "\ufeff", "\r\n\n\r", "\ufeff\r\n", "sep=;\r\n", "\ufeffsep=,"]) {
    it(`is empty: ${JSON.stringify(text)}`, async () => {
      await refused(Buffer.from(text), "empty_source", /no rows/);
      await refused(gzipSync(text), "empty_source", /no rows/);
      await refused(Buffer.from(`\ufeff${text.replace("\ufeff", "")}`, "utf16le"), "empty_source", /no rows/);
    });
  }
});

describe("a list without a column of addresses", () => {
  it("is told which columns it has", async () => {
    const list = Buffer.from("id,naïve name\n1,a\n2,b\n");
    await refused(
      list,
      "no_email_column",
      /^No column holds email addresses\. The file's first row is "id", "naïve name"\.$/,
    );
    await refused(list, "no_email_column", /columns are "id", "naïve name"\.$/, { hasHeader: true });
  });

  it("is told so of the column that was asked for", async () => {
    const list = Buffer.from("id,email\n1,a@example.com\n");
    await refused(
      list,
      "no_email_column",
      /^No column is named "e mail2"\. The file's columns are "id", "email"\.$/,
      {
        emailColumn: "e\nmail2",
      },
    );
    await refused(list, "no_email_column", /Column 2, counted from 0.*have 2.*"id", "email"/, {
      emailColumn: 2,
    });
    await refused(list, "no_email_column", /^In a file without a header no column is named "email"/, {
      emailColumn: "email",
      hasHeader: false,
    });
  });

  it("is told twenty of its columns, and the beginning of their names", async () => {
    const header = Array.from({ length: 1_000 }, (_, i) => `${i}${"é".repeat(100)}`).join(",");
    const shown = new RegExp(`"0${"é".repeat(39)}…", "1é.*and 980 more\\.$`);
    await refused(Buffer.from(`${header}\n`), "no_email_column", shown, { hasHeader: true });
  });
});

describe("what goes beyond its bounds is refused in bounded memory", () => {
  const filler = Buffer.alloc(65_536, "x");

  function* longField(quote: string): Generator<Buffer> {
    yield Buffer.from(`email,note\na@example.com,fine\nb@example.com,${quote}`);
    yield* repeated(filler, 1_600);
    yield Buffer.from(`${quote}\nc@example.com,fine\n`);
  }

  for (const [name, quote] of [
    ["a field of 100 MB", ""],
    ["a quoted field of 100 MB", '"'],
  ] as const) {
    it(name, async () => {
      const source = sourceOf(longField(quote));
      await refused(
        source,
        "record_too_large",
        quote === ""
          ? /^Row 2, which begins at byte 30, is longer than 1048576 bytes\.$/
          : /^Row 2, which begins at byte 30, .* bytes\. The quote at byte 44 is still open there: /,
      );
      assert.ok(source.taken < MIB + 3 * filler.length, `${source.taken}`);
      assert.equal(source.closed, true);
    });
  }

  it("a first record that is longer than what is looked at", async () => {
    for (const [start, detail] of [
      ["", /^No row ends within the first 262144 bytes\.$/],
      ['"', /^No row ends within the first 262144 bytes\. The quote at byte 0 is still open there: /],
    ] as const) {
      const source = sourceOf([Buffer.from(`${start}a@example.com`), ...repeated(filler, 100)]);
      await refused(source, "record_too_large", detail);
      assert.ok(source.taken <= LIMITS.bulk.sampleBytes + 2 * filler.length);
    }
  });

  it("a million columns in the first row, or in a later one", async () => {
    const wide = Buffer.from(`a@example.com${",x".repeat(1_000_000)}\n`);
    const source = sourceOf([
      wide.subarray(0, 100_000),
      wide.subarray(100_000, 1_000_000),
      wide.subarray(1_000_000),
    ]);
    await refused(
      source,
      "too_many_columns",
      /^The header or first row, which begins at byte 0, has more than 2000 columns/,
    );
    const later = Buffer.concat([Buffer.from("a@example.com,1\n".repeat(3)), wide]);
    await refused(later, "too_many_columns", /^Row 4, which begins at byte 48, has more than 2000 columns/);
  });

  it("3 000 columns in rows that have an end, by whatever delimiter", async () => {
    for (const delimiter of [",", ";", "\t", "|"]) {
      const row = `${`x${delimiter}`.repeat(2_999)}a@example.com\n`;
      const detail = /^The header or first row, which begins at byte 0, has more than 2000 columns\.$/;
      await refused(Buffer.from(row.repeat(5)), "too_many_columns", detail);
    }
    // In a list separated by tabs, commas separate no columns.
    const list = Buffer.from(`a@example.com\t${"x,".repeat(3_000)}\nb@example.com\ty\n`);
    const read = await readList(sourceOf([list]));
    assert.ok("layout" in read);
    assert.equal(read.layout.delimiter, "\t");
  });

  it("is reported by its first record, and by the number of bytes", async () => {
    const open = '"email\nnobody\nno one\na@example.com\n';
    const never = "is never closed\\.$";
    for (const [options, row] of [
      [{ hasHeader: true }, "the header"],
      [{ emailColumn: "email" }, "the header"],
      [{ hasHeader: false, emailColumn: "email" }, "row 1"],
      [{}, "the header or first row"],
    ] as const)
      await refused(
        Buffer.from(open),
        "quote_not_closed",
        new RegExp(`^The quote at byte 0, in ${row}, ${never}`),
        options,
      );
    for (const [bytes, counted] of [
      [gzipSync(open), "byte 0 of the decompressed text"],
      [Buffer.from(`\ufeff${open}`, "utf16le"), "byte 3 of the text when it is read as UTF-8"],
      [
        gzipSync(Buffer.from(`sep=;\n${open}`, "utf16le")),
        "byte 6 of the decompressed text when it is read as UTF-8",
      ],
    ] as const)
      await refused(
        bytes,
        "quote_not_closed",
        new RegExp(`^The quote at ${counted}, in the header or first row, ${never}`),
      );
    const later = 'email,b\na@example.com,"\nx\n';
    await refused(Buffer.from(later), "quote_not_closed", /^The quote at byte 22, in row 1, is never closed/);
    await refused(
      gzipSync(`email\n${"x".repeat(MIB + 1)}`),
      "record_too_large",
      /^Row 1, which begins at byte 6 of the decompressed text, is longer than 1048576 bytes\.$/,
      { emailColumn: 0 },
    );
  });

  it("a quote that is never closed", async () => {
    const list = Buffer.from('email,note\na@example.com,fine\nb@example.com,"never\nc@example.com,x,y\n');
    await refused(list, "quote_not_closed", /^The quote at byte 44, in row 2, is never closed/);
    await refused(
      Buffer.from('"a@example.com\nb@example.com\nnobody\nno one\n'),
      "quote_not_closed",
      /byte 0, in the header or first row,/,
    );
  });

  it("a bomb in gzip", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, "a@example.com\n"));
    await refused(bomb, "bulk_too_large", /more than 10000000 bytes/);
  });

  it("a gzip file that is cut off", async () => {
    const list = gzipSync(
      Array.from({ length: 50_000 }, (_, i) => `${(i * 7_919) % 50_000}a@example.com\n`).join(""),
    );
    await refused(list.subarray(0, 100), "not_readable", /ends too early/);
    await refused(list.subarray(0, -5), "not_readable", /ends too early/);
    const damaged = Buffer.from(list);
    damaged.fill(0xff, 5_000, 5_100);
    await refused(damaged, "not_readable", /its data are damaged/);
  });

  it("a gzip file with something else behind it", async () => {
    const list = gzipSync("email\na@example.com\n");
    for (const tail of ["b@example.com\n", "\0\0\0x", "PK\x03\x04"])
      for (const pieceBytes of [1, 7, 1_000]) {
        const source = sourceOf(cut(Buffer.concat([list, latin1(tail)]), [pieceBytes]));
        await refused(source, "not_readable", /: what follows its compressed data is not gzip\.$/);
      }
  });
});
