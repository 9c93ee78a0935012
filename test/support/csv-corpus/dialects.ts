import type { CorpusList } from "./exports.ts";

const utf8 = (text: string): Buffer => Buffer.from(text);
const binary = (text: string): Buffer => Buffer.from(text, "latin1");

const oneColumn = { delimiter: ",", emailColumn: 0 };
const plain = { ...oneColumn, header: null };

/** The corners of RFC 4180, and what lies beyond them. */
export const DIALECTS: readonly CorpusList[] = [
  { name: "one address", bytes: utf8("a@example.com"), ...plain, rows: [["a@example.com"]] },
  {
    name: "one column with a header that says nothing",
    bytes: utf8("Customer\na@example.com\nb@example.com\n"),
    ...oneColumn,
    header: ["Customer"],
    rows: [["a@example.com"], ["b@example.com"]],
  },
  {
    name: "one column of addresses, most of them broken",
    bytes: utf8("a@example.com\nbroken@\n@example.com\nJane <jane@example.com>\nb@example.com\n"),
    ...plain,
    rows: [["a@example.com"], ["broken@"], ["@example.com"], ["Jane <jane@example.com>"], ["b@example.com"]],
  },
  {
    name: "nothing but names with addresses in angle brackets",
    bytes: utf8('"Doe, Jane" <jane@example.com>\nBob <bob@example.com>\n'),
    options: { delimiter: ";" },
    delimiter: ";",
    emailColumn: 0,
    header: null,
    rows: [['"Doe, Jane" <jane@example.com>'], ["Bob <bob@example.com>"]],
  },
  {
    name: "a header alone",
    bytes: utf8("id,email,name\r\n"),
    delimiter: ",",
    emailColumn: 1,
    header: ["id", "email", "name"],
    rows: [],
  },
  {
    name: "a header alone, with commas in its names",
    bytes: utf8("last, first;email\n"),
    delimiter: ";",
    emailColumn: 1,
    header: ["last, first", "email"],
    rows: [],
  },
  {
    name: "a header alone without its end",
    bytes: utf8("\ufeffemail"),
    ...oneColumn,
    header: ["email"],
    bom: true,
    rows: [],
  },
  {
    name: "column names twice",
    bytes: utf8("email,name,email\n,A,a@example.com\n,B,b@example.com\n"),
    delimiter: ",",
    emailColumn: 2,
    header: ["email", "name", "email"],
    rows: [
      ["", "A", "a@example.com"],
      ["", "B", "b@example.com"],
    ],
  },
  {
    name: "a quoted header with a line end and a delimiter in a name",
    bytes: utf8('"Full\r\nname, if any","e mail"\r\nA,a@example.com\r\n'),
    delimiter: ",",
    emailColumn: 1,
    header: ["Full\r\nname, if any", "e mail"],
    rows: [["A", "a@example.com"]],
  },
  {
    name: "rows of delimiters, a trailing delimiter and blank lines",
    bytes: utf8("\r\n\r\nemail,name,\r\n\r\n,,\r\na@example.com,A,\r\n,\r\n\n\nb@example.com,B,\r\n\r\n\r\n"),
    delimiter: ",",
    emailColumn: 0,
    header: ["email", "name", ""],
    rows: [
      ["", "", ""],
      ["a@example.com", "A", ""],
      ["", ""],
      ["b@example.com", "B", ""],
    ],
  },
  {
    name: "rows of all lengths",
    bytes: utf8("name,email\nA,a@example.com,more,and more\nB\n,b@example.com\n"),
    delimiter: ",",
    emailColumn: 1,
    header: ["name", "email"],
    rows: [["A", "a@example.com", "more", "and more"], ["B"], ["", "b@example.com"]],
  },
  {
    name: "all ends of lines in one file",
    bytes: utf8(
      "a@example.com\r\nb@example.com\rc@example.com\nd@example.com\n\re@example.com\r\r\nf@example.com",
    ),
    ...plain,
    rows: ["a", "b", "c", "d", "e", "f"].map((name) => [`${name}@example.com`]),
  },
  {
    name: "ends of lines of all kinds within quotes",
    bytes: utf8('a@example.com,"\r\n\r\n"\r\nb@example.com,"\r"\r\nc@example.com,"\n\n"\r\n'),
    delimiter: ",",
    emailColumn: 0,
    header: null,
    rows: [
      ["a@example.com", "\r\n\r\n"],
      ["b@example.com", "\r"],
      ["c@example.com", "\n\n"],
    ],
  },
  {
    name: "quotes of every sort",
    bytes: utf8(
      '"a@example.com","",""""\n"b@example.com" ,5" disk,"half" open\nc@example.com, "no","a""b"\nd@example.com,""x,""""""\n',
    ),
    delimiter: ",",
    emailColumn: 0,
    header: null,
    rows: [
      ["a@example.com", "", '"'],
      ['"b@example.com" ', '5" disk', '"half" open'],
      ["c@example.com", ' "no"', 'a"b'],
      ["d@example.com", '""x', '""'],
    ],
  },
  {
    name: "a quoted local part with a comma in it",
    bytes: utf8('email,id\n"""doe, jane""@example.com",1\nb@example.com,2\n'),
    delimiter: ",",
    emailColumn: 0,
    header: ["email", "id"],
    rows: [
      ['"doe, jane"@example.com', "1"],
      ["b@example.com", "2"],
    ],
  },
  {
    name: "bytes of Windows-1252",
    bytes: binary("Name;E-Mail\r\nJ\xf6rg \x80;j@example.com\r\n\x93Zo\xe9;z@example.com\r\n"),
    delimiter: ";",
    emailColumn: 1,
    header: ["Name", "E-Mail"],
    rows: [
      ["J\ufffdrg \ufffd", "j@example.com"],
      ["\ufffdZo\ufffd", "z@example.com"],
    ],
  },
  {
    name: "emoji, right-to-left text, marks and characters without width",
    bytes: utf8(
      "name,email\n👩‍👩‍👧 مرحبا,\u200fa@example.com\nZ\u0300\u0301\u0302,b\u200b@example.com\n\u202eabc,c@example.com\n",
    ),
    delimiter: ",",
    emailColumn: 1,
    header: ["name", "email"],
    rows: [
      ["👩‍👩‍👧 مرحبا", "\u200fa@example.com"],
      ["Z\u0300\u0301\u0302", "b\u200b@example.com"],
      ["\u202eabc", "c@example.com"],
    ],
  },
  {
    name: "internationalised addresses",
    bytes: utf8("почта\nиван@пример.рф\n用户@例子.中国\n"),
    ...oneColumn,
    header: ["почта"],
    rows: [["иван@пример.рф"], ["用户@例子.中国"]],
  },
  {
    name: "internationalised addresses without a header",
    bytes: utf8("1;Роман@РАР.рф\n2;à@exàmple.com\n"),
    delimiter: ";",
    emailColumn: 1,
    header: null,
    rows: [
      ["1", "Роман@РАР.рф"],
      ["2", "à@exàmple.com"],
    ],
  },
  {
    name: "1 000 columns",
    bytes: utf8([1, 2].map((row) => `${row},${"x,".repeat(996)}r${row}@example.com,,end\n`).join("")),
    delimiter: ",",
    emailColumn: 997,
    header: null,
    rows: [1, 2].map((row) => [`${row}`, ...Array<string>(996).fill("x"), `r${row}@example.com`, "", "end"]),
  },
  {
    name: "a channel called email beside the addresses",
    bytes: utf8("id,email,contact\n1,yes,a@example.com\n2,no,b@example.com\n"),
    delimiter: ",",
    emailColumn: 2,
    header: ["id", "email", "contact"],
    rows: [
      ["1", "yes", "a@example.com"],
      ["2", "no", "b@example.com"],
    ],
  },
  {
    name: "the column that was asked for, by its name in other letters",
    bytes: utf8("primary email,Backup E-Mail\na@example.com,b@example.com\n"),
    options: { emailColumn: "backup_email" },
    delimiter: ",",
    emailColumn: 1,
    header: ["primary email", "Backup E-Mail"],
    rows: [["a@example.com", "b@example.com"]],
  },
  {
    name: "the column that was asked for, by its number",
    bytes: utf8("a@example.com,b@example.com\nc@example.com,d@example.com\n"),
    options: { emailColumn: 1 },
    delimiter: ",",
    emailColumn: 1,
    header: null,
    rows: [
      ["a@example.com", "b@example.com"],
      ["c@example.com", "d@example.com"],
    ],
  },
  {
    name: "an address in the header, which is none",
    bytes: utf8("a@example.com,email\nb@example.com,sms\n"),
    delimiter: ",",
    emailColumn: 0,
    header: null,
    rows: [
      ["a@example.com", "email"],
      ["b@example.com", "sms"],
    ],
  },
  {
    name: "a stray NUL among many bytes, and after a closing quote",
    bytes: binary(`email,note\na@example.com,"x"\0y\n${`b@example.com,${"z".repeat(50)}\n`.repeat(20)}`),
    delimiter: ",",
    emailColumn: 0,
    header: ["email", "note"],
    rows: [["a@example.com", "x\0y"], ...Array.from({ length: 20 }, () => ["b@example.com", "z".repeat(50)])],
  },
];
