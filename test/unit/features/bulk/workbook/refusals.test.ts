import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { randomBytes, readWorkbook } from "../../../../support/open-workbook.ts";
import fc from "../../../../support/properties.ts";
import { type WorkbookOf, workbookOf, workbookParts } from "../../../../support/workbook.ts";
import { type ZipPart, zipOf } from "../../../../support/zip.ts";

const LIST: WorkbookOf = { sheets: [{ name: "A", rows: [["email"], ["a@ok.test"]] }] };
const SHEET = "xl/worksheets/sheet1.xml";
const STRINGS = "xl/sharedStrings.xml";
const sheetOf = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
const withPart = (part: ZipPart) => workbookOf({ ...LIST, parts: [part] });
const withSheet = (content: string) => withPart({ name: SHEET, content });
const whole = workbookOf(LIST);

const RUN = `<r><t>${"x".repeat(30_000)}</t></r>`;

const BILLION_LAUGHS =
  '<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>' +
  `${sheetOf('<row><c t="str"><v>&b;</v></c></row>')}`;

describe("a workbook that is refused", () => {
  const refused: [what: string, bytes: Buffer, refusal: RegExp][] = [
    [
      "binary",
      zipOf([{ name: "xl/workbook.bin", content: "x" }]),
      /^not_csv: .*\(\.xlsb\).*save it as \.xlsx/,
    ],
    [
      "OpenDocument",
      zipOf([
        { name: "mimetype", content: "x" },
        { name: "content.xml", content: "x" },
      ]),
      /^not_csv: .*\.ods/,
    ],
    ["Numbers", zipOf([{ name: "Index/Document.iwa", content: "x" }]), /^not_csv: .*Numbers/],
    [
      "a Word document",
      zipOf([
        { name: "[Content_Types].xml", content: "x" },
        { name: "word/document.xml", content: "x" },
      ]),
      /^not_csv: .*without sheets/,
    ],
    [
      "a ZIP archive of lists",
      zipOf([{ name: "list.csv", content: "a@ok.test" }]),
      /^not_csv: .*ZIP archive.*list itself/,
    ],
    ["an empty archive", zipOf([]), /^not_csv: .*ZIP archive/],
    ["without sheets", workbookOf({ sheets: [] }), /^not_readable: .*no sheet with cells/],
    ["cut off", whole.subarray(0, whole.length - 30), /^not_readable: .*directory is damaged/],
    ["no more than its signature", Buffer.from("PK\x03\x04"), /^not_readable: .*directory is damaged/],
    ["encrypted", withPart({ name: SHEET, content: "x", flags: 1 }), /^not_readable: .*without a password/],
    [
      "compressed otherwise",
      withPart({ name: SHEET, content: "x", method: 12 }),
      /^not_readable: .*method 12/,
    ],
    [
      "with another CRC",
      withPart({ name: SHEET, content: sheetOf(""), claims: { crc: 1 } }),
      /^not_readable: .*sheet1\.xml is damaged/,
    ],
    [
      "larger than it says",
      withPart({ name: SHEET, content: sheetOf(""), claims: { uncompressedSize: 5 } }),
      /^not_readable: .*is damaged/,
    ],
    [
      "smaller than it says",
      withPart({ name: SHEET, content: sheetOf(""), claims: { uncompressedSize: 500 } }),
      /^not_readable: .*is damaged/,
    ],
    [
      "that inflates too much",
      withPart({ name: SHEET, content: Buffer.alloc(90_000_000, " ") }),
      /^bulk_too_large: .*inflates to 90000000 bytes/,
    ],
    [
      "whose directory claims what is too much",
      withPart({ name: SHEET, content: "x", claims: { uncompressedSize: 0xfffffff0 } }),
      /^bulk_too_large: /,
    ],
    [
      "with too many parts",
      zipOf(
        Array.from({ length: LIMITS.bulk.workbook.entries + 1 }, (_, i) => ({
          name: `p${i}`,
          content: "",
          method: 0,
        })),
      ),
      /^bulk_too_large: .*parts/,
    ],
    [
      "with paths that lead out",
      zipOf([{ name: "../../etc/passwd", content: "x" }]),
      /^not_readable: .*directory/,
    ],
    ["with entities", withSheet(BILLION_LAUGHS), /^not_readable: .*document type/],
    [
      "with an unknown entity",
      withSheet(sheetOf('<row><c t="str"><v>&x;</v></c></row>')),
      /^not_readable: .*well-formed/,
    ],
    ["whose sheet ends early", withSheet("<worksheet><sheetData><row>"), /^not_readable: .*well-formed/],
    ["whose sheet is nested too deep", withSheet("<a>".repeat(100)), /^not_readable: .*deeper than/],
    ["whose sheet is empty", withSheet(""), /^not_readable: .*well-formed/],
    [
      "in another encoding",
      withSheet(`<?xml version="1.0" encoding="EBCDIC"?>${sheetOf("")}`),
      /^not_readable: .*EBCDIC/,
    ],
    ["with a text without end", withSheet(`<worksheet><!--${"x".repeat(3_000_000)}`), /^record_too_large: /],
    [
      "with a row without end",
      withSheet(sheetOf(`<row>${`<c t="str"><v>${"x".repeat(30_000)}</v></c>`.repeat(50)}</row>`)),
      /^record_too_large: Row 1/,
    ],
    [
      "with a shared string of runs without end",
      withPart({ name: STRINGS, content: `<sst><si>${RUN.repeat(50)}</si></sst>` }),
      /^record_too_large: .*cell of more than/,
    ],
    [
      "with a cell of runs without end",
      withSheet(sheetOf(`<row><c t="inlineStr"><is>${RUN.repeat(50)}</is></c></row>`)),
      /^record_too_large: .*cell of more than/,
    ],
    [
      "with a value of pieces without end",
      withSheet(
        sheetOf(`<row><c t="str"><v>${`<![CDATA[${"x".repeat(30_000)}]]>`.repeat(50)}</v></c></row>`),
      ),
      /^record_too_large: .*cell of more than/,
    ],
    [
      "with too many columns",
      withSheet(sheetOf('<row r="7"><c r="XFD7"><v>1</v></c></row>')),
      /^too_many_columns: Row 7/,
    ],
    [
      "with a cell without place",
      withSheet(sheetOf('<row><c r="12"><v>1</v></c></row>')),
      /^not_readable: .*no place/,
    ],
    [
      "that names a string it has not",
      withSheet(sheetOf('<row><c t="s"><v>99</v></c></row>')),
      /^not_readable: .*string 99/,
    ],
    [
      "whose strings are missing",
      zipOf(workbookParts(LIST).filter(({ name }) => name !== STRINGS)),
      /^not_readable: .*string 0/,
    ],
    [
      "whose sheet is missing",
      zipOf(workbookParts(LIST).filter(({ name }) => name !== SHEET)),
      /^not_readable: .*is missing/,
    ],
  ];
  for (const [what, bytes, refusal] of refused)
    it(`is ${what}`, async () => {
      assert.match(String(await readWorkbook(bytes)), refusal);
    });

  it("is not one whose source fails: that error comes through", async () => {
    for (const failing of ["read", "open"] as const) {
      const gone = new Error("object storage is gone");
      const source = {
        ...randomBytes(whole),
        ...(failing === "read"
          ? { read: () => Promise.reject(gone) }
          : {
              // biome-ignore lint/correctness/useYield: it fails before it gives anything.
              async *open(): AsyncGenerator<Buffer> {
                throw gone;
              },
            }),
      };
      await assert.rejects(readWorkbook(source), gone);
    }
  });

  it("is read whole, or refused with a sentence, whatever bytes of it are changed", async () => {
    const expected = "email\na@ok.test\n";
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (changes) => {
          const bytes = Buffer.from(whole);
          for (const [at, byte] of changes) bytes[at] = byte;
          const read = await readWorkbook(bytes);
          if (typeof read === "string") assert.match(read, /^[a-z_]+: .+\.$/);
          else assert.equal(read.text, expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("is read or refused whatever its sheet's XML is", async () => {
    const tags = fc.constantFrom(
      "<row>",
      "</row>",
      '<row r="9">',
      '<c r="B2" t="s">',
      "<c>",
      "</c>",
      "<v>",
      "</v>",
      "<is>",
      "</is>",
      "<t>",
      "</t>",
      "<f>",
      "</f>",
      "1",
      "0",
      "a@ok.test",
      "<rPh>",
      "</rPh>",
      "&amp;",
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "\0",
      "&#0;",
      "&#xD800;",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(tags, { maxLength: 40 }), async (parts) => {
        const read = await readWorkbook(withSheet(sheetOf(parts.join(""))));
        if (typeof read === "string") assert.match(read, /^not_readable: .+\.$/);
      }),
      { numRuns: 300 },
    );
  });
});
