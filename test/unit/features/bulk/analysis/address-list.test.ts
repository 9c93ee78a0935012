import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { analysedList, analyseList, fixtureList } from "../../../../support/analysed-list.ts";

const PIECES = [1, 7, 65_536];

const LISTS: readonly [name: string, list: string | Buffer, emails: string[]][] = [
  [
    "one line",
    fixtureList("semicolon-list-one-line"),
    ["exists1@ok.test", "exists2@ok.test", "exists3@ok.test"],
  ],
  ["mixed separators", "a@x.com; b@x.com, c@x.com", ["a@x.com", "b@x.com", "c@x.com"]],
  ["spaces", "a@x.com b@x.com c@x.com\n", ["a@x.com", "b@x.com", "c@x.com"]],
  [
    "names, as mail programs copy them",
    'Jane <a@x.com>; "Doe, Bob" <b@x.com>, <c@x.com>',
    ["Jane <a@x.com>", '"Doe, Bob" <b@x.com>', "<c@x.com>"],
  ],
  [
    "lines of several",
    "a@x.com; b@x.com\r\nc@x.com\r\n\r\nd@x.com;e@x.com;f@x.com;\r\n",
    [..."abcdef"].map((c) => `${c}@x.com`),
  ],
  [
    "lines of many",
    "a@x.com,b@x.com,c@x.com,d@x.com\ne@x.com,f@x.com,g@x.com,h@x.com\n",
    [..."abcdefgh"].map((c) => `${c}@x.com`),
  ],
  ["a byte order mark", "\ufeffa@x.com;b@x.com", ["a@x.com", "b@x.com"]],
  ["letters beyond ASCII", "josé@x.com;zoë@x.com", ["josé@x.com", "zoë@x.com"]],
];

describe("a list of addresses, several on a line", () => {
  for (const [name, list, emails] of LISTS)
    it(`${name}: a row of each`, async () => {
      for (const pieceBytes of PIECES)
        for (const bytes of [Buffer.from(list), gzipSync(list)]) {
          const read = await analysedList(bytes, {}, pieceBytes);
          assert.deepEqual(read.emails, emails);
          assert.deepEqual([read.malformed, read.columns.email.chosen_by], [0, "only"]);
          assert.deepEqual(
            read.warnings.map(({ code }) => code),
            ["address_list"],
          );
        }
    });

  it("is read to its end, however long its line is", async () => {
    const emails = Array.from({ length: 100_000 }, (_, i) => `contact${i}@example.com`);
    for (const separator of ["; ", ","]) {
      const read = await analysedList(emails.join(separator));
      assert.deepEqual(read.emails, emails);
    }
  });

  it("keeps what turns out to be something else as malformed rows", async () => {
    const emails = Array.from({ length: 20_000 }, (_, i) => `contact${i}@example.com`);
    const read = await analysedList([...emails, "no address", "b@x.com"].join(";"));
    assert.deepEqual([read.rows, read.malformed], [20_002, 1]);
  });
});

describe("what is no such list", () => {
  for (const [name, list, options] of [
    ["two columns of addresses", "a@x.com,b@x.com\nc@x.com,d@x.com\n", {}],
    ["one address a line", "a@x.com\nb@x.com\n", {}],
    ["one address a line with what parts columns", "a@x.com;\nb@x.com;\n", {}],
    ["a table", "A,a@x.com,b@x.com\nB,c@x.com\n", {}],
    ["a header above", "Email\na@x.com; b@x.com\nc@x.com\n", {}],
    ["what has a delimiter by its owner", "a@x.com;b@x.com;c@x.com", { delimiter: ";" }],
    ["what has a column by its owner", "a@x.com;b@x.com;c@x.com", { emailColumn: 1 }],
  ] as const)
    it(name, async () => {
      const { found } = await analyseList(list, options);
      assert.ok(!found.ok || found.warnings.every(({ code }) => code !== "address_list"));
    });
});
