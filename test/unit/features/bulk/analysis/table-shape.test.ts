import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { analysedList, analyseList, fixtureList } from "../../../../support/analysed-list.ts";

const PIECES = [1, 7, 65_536];

/** Expected reading of lists: the cells of the column of addresses, and the lines that are no rows. */
const LISTS: readonly [
  name: string,
  list: string | Buffer,
  emails: string[],
  skipped: [number, string, string][],
][] = [
  [
    "title rows",
    fixtureList("title-rows"),
    ["exists1@ok.test", "exists2@ok.test"],
    [
      [1, "Customer report,,", "title"],
      [2, "Generated 2024-01-01,,", "title"],
      [3, ",,", "title"],
    ],
  ],
  [
    "a title with an address",
    fixtureList("google-groups"),
    ["exists1@ok.test", "exists2@ok.test", "exists3@ok.test"],
    [[1, "Members for group my-group@ok.test", "title"]],
  ],
  [
    "comments",
    fixtureList("comment-lines"),
    ["exists1@ok.test", "exists2@ok.test"],
    [
      [1, "# exported 2024", "comment"],
      [2, "# by x", "comment"],
    ],
  ],
  [
    "a report with a footer",
    fixtureList("hdr-sf-report"),
    ["exists1@ok.test", "", "exists3@ok.test"],
    [
      [7, '"Unsubscribed contacts"', "footer"],
      [8, '"Copyright (c) 2000-2024 salesforce.com, inc. All rights reserved."', "footer"],
      [9, '"Confidential Information - Do Not Distribute"', "footer"],
    ],
  ],
  [
    "a comment with commas above a header",
    "# by Jane, Bob\r\n\r\nEmail,Name\r\na@x.com,A\r\n",
    ["a@x.com"],
    [[1, "# by Jane, Bob", "comment"]],
  ],
  [
    "a comment above rows without a header",
    "# my list\na@x.com\nb@x.com\n",
    ["a@x.com", "b@x.com"],
    [[1, "# my list", "comment"]],
  ],
  ["a header that begins with #", "#,Name,Mail\n1,A,a@x.com\n", ["a@x.com"], []],
  ["a header that is a comment", "#email,name\na@x.com,A\n", ["a@x.com"], []],
  [
    "a title above labels that say nothing",
    "Report\n\nName,Kontakt,Tel\nA,a@x.com,1\nB,b@x.com,2\n",
    ["a@x.com", "b@x.com"],
    [[1, "Report", "title"]],
  ],
  [
    "a title in quotes over two lines",
    '"Report\nof May"\nName,Email\nA,a@x.com\n',
    ["a@x.com"],
    [[1, '"Report of May"', "title"]],
  ],
  ["a title above one column", "My list\nEmail\na@x.com\n", ["a@x.com"], [[1, "My list", "title"]]],
  ["a sum below", "Name,Email,Phone\nA,a@x.com,1\nTotal,1\n", ["a@x.com"], [[3, "Total,1", "footer"]]],
  [
    "a sentence below",
    "Name;Email\r\nA;a@x.com\r\n3 records exported\r\n",
    ["a@x.com"],
    [[3, "3 records exported", "footer"]],
  ],
  ["a word below, apart", "Name;Email\nA;a@x.com\n\nEnd\n", ["a@x.com"], [[4, "End", "footer"]]],
  [
    "a table that psql printed",
    " id |     email     \n----+---------------\n  1 | a@x.com       \n  2 | b@x.com       \n(2 rows)\n\n",
    [" a@x.com       ", " b@x.com       "],
    [
      [2, "----+---------------", "rule"],
      [5, "(2 rows)", "footer"],
    ],
  ],
  [
    "a table of one column that psql printed",
    "  email  \n---------\n a@x.com\n(1 row)\n",
    [" a@x.com"],
    [
      [2, "---------", "rule"],
      [4, "(1 row)", "footer"],
    ],
  ],
  [
    "a table that MySQL printed",
    "+---------+----+\n| email   | id |\n+---------+----+\n| a@x.com | 1  |\n+---------+----+\n1 row in set (0.00 sec)\n",
    [" a@x.com "],
    [
      [1, "+---------+----+", "rule"],
      [3, "+---------+----+", "rule"],
      [5, "+---------+----+", "rule"],
      [6, "1 row in set (0.00 sec)", "footer"],
    ],
  ],
  [
    "a table that sqlcmd printed",
    "email,name\n-----,----\na@x.com,A\n\n(1 rows affected)\n",
    ["a@x.com"],
    [
      [2, "-----,----", "rule"],
      [5, "(1 rows affected)", "footer"],
    ],
  ],
  [
    "a table of Markdown",
    "| name | email |\n|:-----|------:|\n| A | a@x.com |\n",
    [" a@x.com "],
    [[2, "|:-----|------:|", "rule"]],
  ],
  // Rows of data are no footers, however they look.
  [
    "a short row with an address below",
    "Email,Name,Phone\na@x.com,A,1\nb@x.com\n",
    ["a@x.com", "b@x.com"],
    [],
  ],
  [
    "a short row with an address in another column",
    "Name,Note,Email\nA,n,a@x.com\nTotal b@x.com\n",
    ["a@x.com", ""],
    [],
  ],
  [
    "what looks printed between rows",
    "email\na@x.com\n(1 row)\nb@x.com\n",
    ["a@x.com", "(1 row)", "b@x.com"],
    [],
  ],
  ["dashes for no value", "name,email\nA,a@x.com\n--,--\n", ["a@x.com", "--"], []],
  ["a word below", "name,email\nA,a@x.com\nBob\n", ["a@x.com", ""], []],
  ["two values below", "id,name,email\n1,A,a@x.com\n2,Bob Roe\n", ["a@x.com", ""], []],
  [
    "short rows of a ragged table",
    "name,email\nAnn Lee,a@x.com\nBob Roe\nCy Poe,c@x.com\nDi Moe\n",
    ["a@x.com", "", "c@x.com", ""],
    [],
  ],
  ["text between rows", "name,email\nA,a@x.com\nPage 1 of 2\nB,b@x.com\n", ["a@x.com", "", "b@x.com"], []],
  ["a row of a full width without an address", "name,email\nA,a@x.com\nTotal,\n", ["a@x.com", ""], []],
  ["sentences in one column", "email\na@x.com\n\nThat was all\n", ["a@x.com", "That was all"], []],
  [
    "an address above what looks like a header",
    "a@x.com\nEmail,Name\nb@x.com,B\n",
    ["a@x.com", "Email", "b@x.com"],
    [],
  ],
  [
    "rows with an empty address above the first one",
    "Name,Kontakt,Tel\nAnn,,\nBob,x,y\nCy,c@x.com,1\n",
    ["", "x", "c@x.com"],
    [],
  ],
  ["a column without a name before it", ",Kontakt\n0,\n1,foo\n2,c@x.com\n", ["", "foo", "c@x.com"], []],
];

describe("what stands above and below a table", () => {
  for (const [name, list, emails, skipped] of LISTS)
    it(name, async () => {
      for (const pieceBytes of PIECES) {
        const read = await analysedList(list, {}, pieceBytes);
        assert.deepEqual(read.emails, emails);
        assert.equal(read.rows, emails.length);
        assert.deepEqual(
          read.columns.skipped_lines.map(({ line, text, reason }) => [line, text, reason]),
          skipped,
        );
      }
    });

  it("is not skipped where its owner says that there is no header", async () => {
    const read = await analysedList("Report,\nEmail,Name\na@x.com,A\n", { hasHeader: false });
    assert.deepEqual([read.emails, read.columns.skipped_lines], [["Report", "Email", "a@x.com"], []]);
  });

  it("is found below titles by the name that was asked for", async () => {
    const options = { emailColumn: "Kontakt" };
    const read = await analysedList("Report\n\nName,Kontakt\nA,a@x.com\n", options);
    assert.deepEqual([read.emails, read.layout.header], [["a@x.com"], ["Name", "Kontakt"]]);
    assert.deepEqual(read.columns.email, { index: 1, name: "Kontakt", chosen_by: "option" });
  });

  it("holds back twenty lines at most, and no long ones", async () => {
    const many = await analysedList(`Name,Email\nA,a@x.com\n${"some words here\n".repeat(21)}`);
    assert.deepEqual([many.rows, many.columns.skipped_lines], [22, []]);
    const long = await analysedList(`Name,Email\nA,a@x.com\n${"words ".repeat(1_000)}\n`);
    assert.deepEqual([long.rows, long.columns.skipped_lines], [2, []]);
  });

  it("is shown by its beginning", async () => {
    const read = await analysedList(`Name,Email\nA,a@x.com\nTotal \0 ${"é ".repeat(500)}\n`);
    const [line] = read.columns.skipped_lines;
    assert.equal([...(line?.text ?? "")].length, 200);
    assert.ok(!line?.text.includes("\0"));
  });
});

const CHOSEN: readonly [name: string, emails: string[]][] = [
  ["hdr-pipedrive", ["exists1@ok.test", ""]],
  ["hdr-two-email", ["exists1@ok.test", "", "exists3@ok.test"]],
  ["header-en5", ["exists1@ok.test", ""]],
  ["header-en9", ["exists1@ok.test", ""]],
  ["header-de3", ["exists1@ok.test", ""]],
  ["header-fr", ["exists1@ok.test", ""]],
  ["header-nl", ["exists1@ok.test", "", ""]],
  ["header-zh", ["exists1@ok.test", ""]],
  ["hdr-es", ["exists1@ok.test", "exists2@ok.test", ""]],
  ["owner-full-email-sparse", ["exists1@ok.test", "", "", "exists2@ok.test"]],
];

describe("small lists of contacts and owners", () => {
  for (const [name, emails] of CHOSEN)
    it(`${name}: the contact's column`, async () => {
      assert.deepEqual((await analysedList(fixtureList(name))).emails, emails);
    });

  for (const [name, code] of [
    ["two-same-header", "email_column_ambiguous"],
    ["caret", "no_email_column"],
  ] as const)
    it(`${name}: ${code}`, async () => {
      const { found } = await analyseList(fixtureList(name));
      assert.equal(found.ok ? "read" : found.code, code);
    });

  it("caret, with its delimiter", async () => {
    const read = await analysedList(fixtureList("caret"), { delimiter: "^" });
    assert.deepEqual(read.emails, ["exists1@ok.test", "exists2@ok.test"]);
  });
});
