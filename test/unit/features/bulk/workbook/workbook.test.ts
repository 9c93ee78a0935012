import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openWorkbook } from "../../../../../src/features/bulk/workbook/workbook.ts";
import { randomBytes, readWorkbook } from "../../../../support/open-workbook.ts";
import { type WorkbookOf, workbookOf, workbookParts } from "../../../../support/workbook.ts";
import { type ZipPart, zipOf } from "../../../../support/zip.ts";

const STYLES =
  '<numFmts count="3"><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm"/>' +
  '<numFmt numFmtId="165" formatCode="[$€-2]\\ #,##0.00&quot; days&quot;"/><numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts>' +
  '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="9"/></cellXfs>' +
  '<cellStyles><cellStyle xfId="0"/></cellStyles>';

async function textOf(workbook: WorkbookOf, options = {}): Promise<string> {
  const read = await readWorkbook(workbookOf(workbook), options);
  assert.ok(typeof read !== "string", String(read));
  return read.text;
}

const one = (rows: string, more: Partial<WorkbookOf> = {}) =>
  textOf({ sheets: [{ name: "A", rows }], styles: STYLES, ...more });
const cell = (xml: string, more?: Partial<WorkbookOf>) => one(`<row r="1">${xml}</row>`, more);

describe("a long text that many cells of a workbook name", () => {
  it("is written bit by bit, not for all cells at once", async () => {
    const row = '<row><c t="s"><v>0</v></c></row>';
    const bytes = workbookOf({
      sheets: [{ name: "A", rows: row.repeat(5_000) }],
      strings: [`<si><t>${"x".repeat(1_000_000)}</t></si>`],
    });
    const opened = await openWorkbook(randomBytes(bytes), { scratch: null, stringsBytes: 1e8 });
    let text = 0;
    for await (const piece of opened.text) {
      assert.ok(piece.length < 50_000_000, String(piece.length));
      text += piece.length;
      if (text > 200_000_000) break;
    }
    await opened.close();
    assert.ok(text > 200_000_000);
  });
});

describe("a cell of a workbook", () => {
  const strings = [
    "<si><t>a@ok.test</t></si>",
    "<si><r><rPr><b/></rPr><t>Jane</t></r><r><t xml:space='preserve'> Doe</t></r></si>",
    "<si><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh><phoneticPr fontId='1'/></si>",
    "<si><t>one_x000D_\ntwo &amp; _x005F_x0041_</t></si>",
    "<si/>",
    '<si><t>say "hi", bob</t></si>',
    "<si><t xml:space='preserve'> edge</t></si>",
    "<si><t><![CDATA[<a@ok.test>]]></t></si>",
  ];
  const cells: [what: string, xml: string, text: string][] = [
    ["shared string", '<c r="A1" t="s"><v>0</v></c>', "a@ok.test"],
    ["rich text", '<c r="A1" t="s"><v>1</v></c>', "Jane Doe"],
    ["text with its pronunciation", '<c r="A1" t="s"><v>2</v></c>', "東京"],
    ["escaped characters", '<c r="A1" t="s"><v>3</v></c>', '"one\ntwo & _x0041_"'],
    ["quotes and commas", '<c r="A1" t="s"><v>5</v></c>', '"say ""hi"", bob"'],
    ["space at an end", '<c r="A1" t="s"><v>6</v></c>', '" edge"'],
    ["CDATA", '<c r="A1" t="s"><v>7</v></c>', "<a@ok.test>"],
    ["inline string", '<c r="A1" t="inlineStr"><is><t>b@ok.test</t></is></c>', "b@ok.test"],
    [
      "inline rich text",
      '<c r="A1" t="inlineStr"><is><r><t>b@</t></r><r><t>ok.test</t></r></is></c>',
      "b@ok.test",
    ],
    ["formula's text", '<c r="A1" t="str"><f>LOWER("C@OK.TEST")</f><v>c@ok.test</v></c>', "c@ok.test"],
    ["formula's number", '<c r="A1"><f>1+1</f><v>2</v></c>', "2"],
    ["whole number", '<c r="A1"><v>49171123456</v></c>', "49171123456"],
    ["number in scientific notation", '<c r="A1"><v>4.9171123456E+10</v></c>', "49171123456"],
    ["number with binary digits", '<c r="A1"><v>0.30000000000000004</v></c>', "0.3"],
    ["percentage", '<c r="A1" s="5"><v>0.25</v></c>', "0.25"],
    ["money with a word", '<c r="A1" s="3"><v>12.5</v></c>', "12.5"],
    ["date", '<c r="A1" s="1"><v>45322</v></c>', "2024-01-31"],
    ["date before 1900-03-01", '<c r="A1" s="1"><v>59</v></c>', "1900-02-28"],
    ["date and time", '<c r="A1" s="2"><v>45322.4375</v></c>', "2024-01-31T10:30:00"],
    ["time", '<c r="A1" s="4"><v>0.4375</v></c>', "10:30:00"],
    ["date that is none", '<c r="A1" s="1"><v>-3</v></c>', "-3"],
    ["ISO date", '<c r="A1" t="d"><v>2024-01-31</v></c>', "2024-01-31"],
    ["true", '<c r="A1" t="b"><v>1</v></c>', "TRUE"],
    ["false", '<c r="A1" t="b"><v>0</v></c>', "FALSE"],
    ["error", '<c r="A1" t="e"><v>#N/A</v></c>', "#N/A"],
    [
      "link that shows its address",
      '<c r="A1" t="str"><f>HYPERLINK("mailto:d@ok.test","d@ok.test")</f><v>d@ok.test</v></c>',
      "d@ok.test",
    ],
    [
      "link that shows a name",
      '<c r="A1" t="str"><f>HYPERLINK("mailto:d@ok.test","Dan")</f><v>Dan</v></c>',
      '"=HYPERLINK(""mailto:d@ok.test"",""Dan"")"',
    ],
    [
      "link without a kept value",
      '<c r="A1"><f>HYPERLINK("mailto:d@ok.test")</f><v></v></c>',
      '"=HYPERLINK(""mailto:d@ok.test"")"',
    ],
    [
      "link to what another cell says",
      '<c r="A1" t="str"><f>HYPERLINK("mailto:"&amp;B1,"Dan")</f><v>Dan</v></c>',
      "Dan",
    ],
    ["prefixed element", '<x:c xmlns:x="urn:x" r="A1" t="str"><x:v>e@ok.test</x:v></x:c>', "e@ok.test"],
  ];
  for (const [what, xml, text] of cells)
    it(`is read: ${what}`, async () => {
      assert.equal(await cell(xml, { strings }), `${text}\n`);
    });

  it("stands in its column, whatever comes before it", async () => {
    assert.equal(await cell('<c r="C1"><v>3</v></c><c r="A1"><v>1</v></c>'), "1,,3\n");
    assert.equal(await cell('<c><v>1</v></c><c r="D1"><v>4</v></c><c><v>5</v></c>'), "1,,,4,5\n");
    assert.equal(await cell('<c r="A1"><v>1</v></c><c r="XFD1" s="1"/>'), "1\n");
  });

  it("is no row where no cell of it has a value", async () => {
    const rows =
      '<row r="2"><c r="A2"><v>2</v></c></row><row r="5"><c r="A5" s="1"/></row><row r="9"/><row><c><v>9</v></c></row>';
    assert.equal(await one(rows), "\n2\n\n\n\n\n\n\n\n9\n");
  });

  it("may be in a row far below: that is no million of blank lines", async () => {
    assert.equal(
      await one('<row r="1048576"><c r="A1048576"><v>1</v></c></row><row r="7"><c><v>2</v></c></row>'),
      "1\n2\n",
    );
  });

  it("counts its days from 1904 where the workbook does", async () => {
    assert.equal(await cell('<c r="A1" s="1"><v>43860</v></c>', { is1904: true }), "2024-01-31\n");
  });

  it("is quoted for the delimiter that is asked for", async () => {
    const workbook = { sheets: [{ name: "A", rows: [["a;b", "c,d"]] }] };
    assert.equal(await textOf(workbook, { delimiter: ";" }), '"a;b";c,d\n');
    assert.equal(await textOf(workbook, { delimiter: "|" }), "a;b|c,d\n");
  });
});

describe("the sheet", () => {
  const sheets = [
    { name: "Notes", rows: [["hidden"]], state: "veryHidden" as const },
    { name: "Contacts", rows: [["contacts"]] },
    { name: "Été 2024", rows: [["summer"]] },
  ];
  const chosen: [asked: string | number | undefined, text: string, index: number][] = [
    [undefined, "contacts\n", 1],
    [0, "hidden\n", 0],
    [2, "summer\n", 2],
    ["Été 2024", "summer\n", 2],
    [" été 2024", "summer\n", 2],
    ["Notes", "hidden\n", 0],
  ];
  for (const [asked, text, index] of chosen)
    it(`that is read is number ${index} when asked for ${JSON.stringify(asked)}`, async () => {
      const read = await readWorkbook(workbookOf({ sheets }), asked === undefined ? {} : { sheet: asked });
      assert.ok(typeof read !== "string", String(read));
      assert.deepEqual([read.text, read.sheet.index, read.sheet.name], [text, index, sheets[index]?.name]);
      assert.deepEqual(
        read.sheet.others,
        sheets.filter((_, i) => i !== index).map(({ name }) => name),
      );
    });

  for (const asked of ["Sheet1", 3])
    it(`that is not there is refused with the names of those that are: ${asked}`, async () => {
      assert.equal(
        await readWorkbook(workbookOf({ sheets }), { sheet: asked }),
        `not_readable: The workbook cannot be read: it has no sheet ${JSON.stringify(asked)}. ` +
          'Its sheets are: 0 "Notes", 1 "Contacts", 2 "Été 2024".',
      );
    });

  it("is found by its relationship, by any name, and a chart is none", async () => {
    const parts = workbookParts({ sheets: [{ name: "A", rows: [["a"]] }] });
    const content = (name: string) => String(parts.find((part) => part.name === name)?.content);
    const renamed: ZipPart[] = [
      { name: "_rels/.rels", content: content("_rels/.rels").replace("xl/workbook.xml", "/Book/Main.xml") },
      {
        name: "Book/main.xml",
        content: content("xl/workbook.xml").replace(
          "<sheets>",
          '<sheets><sheet name="Chart" sheetId="1" r:id="rC"/>',
        ),
      },
      {
        name: "Book/_rels/Main.xml.rels",
        content: content("xl/_rels/workbook.xml.rels")
          .replace("worksheets/sheet1.xml", "..\\Data\\One.xml")
          .replace("sharedStrings.xml", "/texts.xml")
          .replace("</", '<Relationship Id="rC" Type="http://x/chartsheet" Target="c.xml"/></'),
      },
      { name: "data/one.xml", content: content("xl/worksheets/sheet1.xml") },
      { name: "Texts.xml", content: content("xl/sharedStrings.xml") },
    ];
    const read = await readWorkbook(zipOf(renamed));
    assert.ok(typeof read !== "string", String(read));
    assert.deepEqual([read.text, read.sheet.name], ["a\n", "A"]);
  });

  it("may be in UTF-16", async () => {
    const content =
      '\ufeff<?xml version="1.0" encoding="UTF-16"?><worksheet><sheetData><row><c t="str"><v>ü@ok.test</v></c></row></sheetData></worksheet>';
    const part = { name: "xl/worksheets/sheet1.xml", content: Buffer.from(content, "utf16le") };
    assert.equal(await textOf({ sheets: [{ name: "A", rows: [] }], parts: [part] }), "ü@ok.test\n");
  });
});

describe("many shared strings", () => {
  const rows = Array.from({ length: 30_000 }, (_, i) => [
    `someone${i}@${"x".repeat(400)}.test`,
    `name ${i % 7}`,
  ]);

  it("go to scratch, and are found again in any order", async () => {
    const shuffled = rows.map((_, i) => rows[(i * 7_919) % rows.length] ?? []);
    const text = await textOf({ sheets: [{ name: "A", rows: shuffled }] });
    assert.equal(text, shuffled.map((cells) => `${cells.join(",")}\n`).join(""));
  });

  it("are bounded", async () => {
    assert.match(
      String(await readWorkbook(workbookOf({ sheets: [{ name: "A", rows }] }), { stringsBytes: 1_000_000 })),
      /^bulk_too_large: .*texts have more than/,
    );
  });

  it("end the text without scratch space, which is reported", async () => {
    const read = await readWorkbook(workbookOf({ sheets: [{ name: "A", rows }] }), { scratch: null });
    assert.ok(typeof read !== "string", String(read));
    const lines = read.text.trimEnd().split("\n");
    assert.ok(read.isCut && lines.length > 5_000 && lines.length < 25_000, `${lines.length} rows`);
    assert.equal(lines.at(-1), rows[lines.length - 1]?.join(","));
  });

  it("and a sheet of nothing ends there too", async () => {
    const rows = '<row><c s="1"/></row>'.repeat(600_000);
    const read = await readWorkbook(workbookOf({ sheets: [{ name: "A", rows }] }), { scratch: null });
    assert.ok(typeof read !== "string", String(read));
    assert.deepEqual([read.text, read.isCut], ["", true]);
  });
});
