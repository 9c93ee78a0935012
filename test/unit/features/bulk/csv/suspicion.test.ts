import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { SourceOptions } from "../../../../../src/features/bulk/analysis/layout.ts";
import { cut } from "../../../../support/csv-corpus/hostile.ts";
import { readList } from "../../../../support/csv-corpus/read-list.ts";
import { sourceOf } from "../../../../support/csv-corpus/sources.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/lists/${name}`, import.meta.url), "latin1");

const address = (number: number) => `user${number}@example.com`;

/** `count` rows of a name and an address, numbered from `first`. */
const rows = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `N${first + i},${address(first + i)}\n`).join("");

async function read(text: string, options?: SourceOptions, pieceBytes = 4_096) {
  return readList(sourceOf(cut(Buffer.from(text, "latin1"), [pieceBytes])), options);
}

/** Cells of the column of addresses, without quotes. */
async function addressesOf(text: string, options?: SourceOptions): Promise<string[]> {
  const list = await read(text, options);
  assert.ok("layout" in list, JSON.stringify(list));
  return list.addresses.map((value) => value.replace(/^"|"$/g, "").trim());
}

describe("a list whose quotes are not doubled as usual", () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => `exists${i + 1}@ok.test`);
  const lists: [string, string[], { escapedBy?: string; quotes?: string }][] = [
    ["stray-quote-swallow", numbered(5), { quotes: "text" }],
    ["unclosed-quote-then-other", numbered(5), { quotes: "text" }],
    ["bs-unquoted-next", numbered(4), { escapedBy: "\\" }],
    ["backslash-quote-end", numbered(5), { escapedBy: "\\" }],
    ["mysql-outfile", ["exists1@ok.test", "", "exists3@ok.test"], { escapedBy: "\\" }],
    ["skipinitialspace", numbered(3), { quotes: "after_space" }],
  ];
  for (const [name, addresses, dialect] of lists) {
    it(`${name}: has every address`, async () => {
      assert.deepEqual(await addressesOf(fixture(name)), addresses);
      for (const pieceBytes of [1, 2, 7]) {
        const list = await read(fixture(name), undefined, pieceBytes);
        assert.ok("layout" in list, JSON.stringify(list));
        const { escapedBy, quotes } = list.layout;
        assert.deepEqual({ escapedBy, quotes }, { escapedBy: undefined, quotes: undefined, ...dialect });
        assert.deepEqual(list.addresses.length, addresses.length);
      }
    });
  }

  it("is read by the escape that is asked for, or refused", async () => {
    const text = 'name,email\n"A \\"B\\" C",a@example.com\n"C:\\",b@example.com\n"D, E",d@example.com\n';
    const bare = 'name,email\n"A \\"B\\" C",a@example.com\nB,b@example.com\n';
    const escaped = await read(bare, { escape: "\\" });
    assert.ok("layout" in escaped);
    assert.deepEqual(escaped.rows[0], ['A "B" C', "a@example.com"]);
    const doubled = await read(text, { escape: '"' });
    assert.ok("layout" in doubled);
    assert.deepEqual(doubled.rows[1], ["C:\\", "b@example.com"]);
    const refused = await read(text, { escape: "\\" });
    assert.ok("code" in refused);
    assert.equal(refused.code, "suspicious_quote");
    assert.match(refused.detail, /^The quote at byte 37, in row 2, closes before the end of its field/);
  });

  it("is read with backslashes as text where they escape nothing", async () => {
    const list = await read('path,email\n"C:\\",a@example.com\nC:\\,b@example.com\n"D:\\x",c@example.com\n');
    assert.ok("layout" in list);
    assert.deepEqual(
      list.rows.map(([path]) => path),
      ["C:\\", "C:\\", "D:\\x"],
    );
  });
});

describe("a quoted field of many lines", () => {
  const honest: [string, string][] = [
    ["a street", 'email,address\na@example.com,"1 Main St\nApt 4, Springfield\nUSA"\n'],
    ["a street before the address", 'address,email\n"1 Main St\nSpringfield, IL",a@example.com\n'],
    ["a note", 'email,note\na@example.com,"Called.\nNo answer, will try again\n\nLater"\n'],
    [
      "a note that mentions an address",
      'email,note\na@example.com,"Forward to:\nbob@example.com, his assistant"\n',
    ],
    ["a note with an address in its midst", 'note,email\n"Ask bob@example.com,\nplease",a@example.com\n'],
    [
      "a note with an address alone in a line",
      'email,note\na@example.com,"New address:\nb@example.com\nfrom May"\n',
    ],
    [
      "a thread",
      `email,note\na@example.com,"${"From: Bob <b@example.com>\nTo: A <a@example.com>, C <c@example.com>\n\nHi, all.\n".repeat(9)}"\n`,
    ],
    ["some addresses in a cell", 'id,email\n1,"a@example.com\nb@example.com\nc@example.com"\n'],
    ["a name of two lines", 'id,name,email\n1,"Jane\r\nDoe",a@example.com\n'],
    ["a long text", `email,note\na@example.com,"${"All work and no play, they say.\n".repeat(500)}"\n`],
    ["a text of commas", 'id,email,note\n1,a@example.com,"x,y\nx,y,z\nx"\n'],
  ];
  for (const [name, text] of honest) {
    it(`is read: ${name}`, async () => {
      const [header = "", ...more] = text.split("\n");
      const isAddressFirst = header.startsWith("email");
      const plain = isAddressFirst
        ? "z@example.com,x\n"
        : header.includes(",email,")
          ? "2,z@example.com,x\n"
          : header.includes("id,name")
            ? "2,x,z@example.com\n"
            : "x,z@example.com\n";
      const list = await read([header, plain.repeat(3) + more.join("\n")].join("\n"));
      assert.ok("layout" in list, JSON.stringify(list));
      assert.deepEqual([list.layout.escapedBy, list.layout.quotes], [undefined, undefined]);
      assert.equal(list.rows.length, 4);
      assert.match(list.rows[3]?.find((field) => /\n/.test(field)) ?? "", /\n/);
    });
  }

  const swallowed: [string, string][] = [
    ["of an open quote up to an inch mark", `"N1,${address(1)}\n${rows(2, 5)}TV 42",${address(7)}\n`],
    ["of two rows", `"N1,${address(1)}\nTV 42",${address(2)}\n`],
    ["up to a field in quotes", `"N1,${address(1)}\n${rows(2, 5)}"Doe, Jane",${address(7)}\n`],
    ["up to a quote within a field", `"N1,${address(1)}\n${rows(2, 5)}Zoe "Z" X,${address(7)}\n`],
    ["in a field that is not the first", `N1,"${address(1)}\n${rows(2, 5)}N7,"${address(7)}"\n`],
    [
      "of rows of many widths",
      `"N1,${address(1)}\n${rows(2, 5)}N7,${address(7)},x\nN8\nTV 42",${address(9)}\n`,
    ],
    ["without addresses", `"N1,a,b,c,\nN2,a,b,c,\nN3,a,b,c,\nTV 42",a,b,c,${address(9)}\n`],
  ];
  // A row that no reading gives the table's width: quotes as text do not mend these lists.
  const before = (text: string) => (text.includes("a,b,c") ? "n,a,b,c,email\n" : "name,email\n");
  const whole = (text: string) =>
    (text.includes("a,b,c") ? `x,a,b,c,${address(0)}\n` : rows(100, 1)).repeat(8);
  for (const [name, text] of swallowed) {
    it(`that holds rows fails the job: ${name}`, async () => {
      const start = `${before(text)}${whole(text)}"Doe, Jane",${text.includes("a,b,c") ? "a,b,c," : ""}${address(0)}\n`;
      const list = await read(`${start}${text}${whole(text)}`);
      assert.ok("code" in list, JSON.stringify(list));
      assert.equal(list.code, "suspicious_quote", list.detail);
      const quoteAt = start.length + text.indexOf('"');
      assert.match(list.detail, new RegExp(`^The quote at byte ${quoteAt}, in row 10, `));
      assert.equal(list.detail.length < 300, true);
    });

    it(`that holds rows fails the job behind the sample, too: ${name}`, async () => {
      const repeats = Math.ceil(LIMITS.bulk.sampleBytes / whole(text).length) + 1;
      const start = before(text) + whole(text).repeat(repeats);
      const content = `${start}${text}${whole(text)}`;
      for (const bytes of [Buffer.from(content), gzipSync(content)]) {
        const list = await readList(sourceOf(cut(bytes, [65_536])));
        assert.ok("code" in list, JSON.stringify(list).slice(0, 200));
        assert.equal(list.code, "suspicious_quote", list.detail);
        const row = 8 * repeats + 1;
        const quoteAt = start.length + text.indexOf('"');
        assert.match(list.detail, new RegExp(`^The quote at byte ${quoteAt}[^,]*, in row ${row}, `));
      }
    });
  }
});
