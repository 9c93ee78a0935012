import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { parseAddress } from "../../../../src/verification/address/address.ts";
import { type AddressReading, readAddresses } from "../../../../src/verification/address/addresses-in.ts";
import fc from "../../../support/properties.ts";

const ADDRESS = "jane@example.com";

function textOf(reading: AddressReading): string {
  return reading.kind === "one" ? reading.text : reading.kind;
}

describe("an address in a text", () => {
  const around: Record<string, readonly string[]> = {
    "what nobody sees": [
      ` ${ADDRESS} `,
      `\u00a0${ADDRESS}\u00a0`,
      `\t${ADDRESS}\v\f`,
      `\r\n${ADDRESS}\r\n`,
      `\u3000${ADDRESS}\u2060`,
      `\ufeff${ADDRESS}`,
      `\u200b${ADDRESS}\u00ad`,
      `\u202a${ADDRESS}\u202c`,
      `\u200d${ADDRESS}\ufe0f`,
      `${ADDRESS}\0\0`,
      `${ADDRESS}\u2800`,
      "ja\u200bne@exam\u00adple.com",
      "jane\u200c@\u2060example.com",
      "jane@example.com\u200e",
    ],
    "a name or a comment": [
      `Jane <${ADDRESS}>`,
      `Jane Doe<${ADDRESS}>;`,
      `Doe, Jane <${ADDRESS}>`,
      `"Doe, Jane" <${ADDRESS}>`,
      `<${ADDRESS}>;`,
      `${ADDRESS} (Jane)`,
      `(Jane) ${ADDRESS}`,
      `Jane [mailto:${ADDRESS}]`,
      `Jane ${ADDRESS}`,
      `Jane Doe - ${ADDRESS} - Sales`,
      `jane@old.example.com <${ADDRESS}>`,
      `Jane@Work <${ADDRESS}>`,
      `简（${ADDRESS}）`,
      `简＜${ADDRESS}＞`,
    ],
    "a label": [
      `mailto:${ADDRESS}`,
      `MAILTO:${ADDRESS}?subject=Hi%20there&cc=bob@example.com`,
      "mailto:%6aane%40example.com",
      `SMTP:${ADDRESS}`,
      `smtp:${ADDRESS}`,
      `email:${ADDRESS}`,
      `E-Mail: ${ADDRESS}`,
      `Correo: ${ADDRESS}`,
      `邮箱：${ADDRESS}`,
    ],
    "what spreadsheets and pages write": [
      `'${ADDRESS}`,
      `="${ADDRESS}"`,
      `=HYPERLINK("mailto:${ADDRESS}","${ADDRESS}")`,
      `=HYPERLINK("mailto:${ADDRESS}";"Jane")`,
      `[${ADDRESS}](mailto:${ADDRESS}?subject=Hi)`,
      `<a href="mailto:${ADDRESS}?subject=Hi">Jane</a>`,
      `<a href='mailto:${ADDRESS}'>${ADDRESS}</a>`,
      `&lt;${ADDRESS}&gt;`,
      `${ADDRESS}&nbsp;`,
    ],
    quotes: [
      `"${ADDRESS}"`,
      `'${ADDRESS}'`,
      `\`${ADDRESS}\``,
      `“${ADDRESS}”`,
      `„${ADDRESS}“`,
      `‘${ADDRESS}’`,
      `«\u00a0${ADDRESS}\u00a0»`,
      `「${ADDRESS}」`,
      `“${ADDRESS};”`,
      `“ ${ADDRESS} (Jane) ”`,
      `**${ADDRESS}**`,
      `_${ADDRESS}_`,
      `{${ADDRESS}}`,
      ` "'Jane' <mailto:${ADDRESS}>"`,
      `"${ADDRESS}`,
      ...["“", "”", "„", "‘", "’", "«", "»", "‹", "「", "（", "‘“"].map((quote) => quote + ADDRESS),
      `\u00a0“${ADDRESS}`,
      `Jane “${ADDRESS}`,
      `${ADDRESS}"`,
      `${ADDRESS}'`,
    ],
    punctuation: [
      ...[".", ",", ";", ":", ">", ")", "]", "!", "?", "…", ".;", "。", "、"].map((end) => ADDRESS + end),
      ...[",", ";", ":", "<", "(", "["].map((start) => start + ADDRESS),
    ],
    "full width": [
      "jane＠example.com",
      "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ",
      "jane＠example。com",
      "jane﹫example.com",
    ],
  };
  for (const [what, texts] of Object.entries(around))
    for (const text of texts)
      it(`is read out of ${what}: ${JSON.stringify(text)}`, () => {
        const reading = readAddresses(text);
        assert.ok(reading.kind === "one", reading.kind);
        assert.equal(reading.address.normalised, ADDRESS);
        assert.equal(reading.unwrapped, true);
      });

  for (const text of [
    ADDRESS,
    "o'brien@example.com",
    '"doe, jane"@example.com',
    '"a@b"@example.com',
    "#!$%&*+-/=?^_`{|}~@example.com",
    "=jane@example.com",
    "jane+news@example.com",
    "a%40b@example.com",
    "josé@example.com",
    "ｊ@example.com",
    "a＠b@example.com",
    "o’brien@example.com",
    "o“brien@example.com",
    "نامه\u200cای@example.com",
    "jane@例え。テスト",
    "_jane@example.com",
  ])
    it(`is taken as it stands: ${text}`, () => {
      const reading = readAddresses(text);
      assert.deepEqual(textOf(reading), text);
      assert.equal(reading.kind === "one" && reading.unwrapped, false);
      assert.equal(textOf(readAddresses(`Jane <${text}>`)), text);
    });

  for (const text of [
    "no address",
    "<no address>",
    "jane @gmail.com",
    "jane@ gmail.com",
    "jane@gmail.com”",
    "jane@gmail.com·",
    "jane@gmail.com・",
    "jane@gmail.com/",
    "jane@gmail.com/about",
    "jane,doe@gmail.com",
    "jane;doe@gmail.com",
    "jane@mail.gmail,com",
    "jane@gmail.com:25",
    "a@b@example.com",
    "jane@gmail.com@gmail.com",
    "https://example.com/?a=jane@example.com",
    "https://jane:secret@example.com/",
    "mailto:",
    "mailto:a%zz@example.com",
    "mailto:a%0d%0aRCPT@example.com",
    "jane(work)@example.com",
    "@relay.example.com:jane@example.com",
    "jane@example.com, @bob",
    "jane@example.com; bob@",
    "ja\0ne@example.com",
    "jos\ufffd@example.com",
    "Jane <jos\ufffd@example.com>",
    "‹›",
    "@",
    "-",
    "x".repeat(LIMITS.check.cellChars) + ADDRESS,
  ])
    it(`is none: ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.deepEqual(readAddresses(text), { kind: "none" });
    });

  for (const text of ["", " ", "\t\r\n", "\u00a0\u200b", "\ufeff", '=""', '""', "'"])
    it(`is not there where nothing is: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readAddresses(text), { kind: "empty" });
    });

  const several: [text: string, texts: string[]][] = [
    ["a@x.test, b@x.test", ["a@x.test", "b@x.test"]],
    ["_a@x.test, _b@x.test", ["_a@x.test", "_b@x.test"]],
    ["'a@x.test', 'b@x.test'", ["a@x.test", "b@x.test"]],
    ["“a@x.test”, “b@x.test”", ["a@x.test", "b@x.test"]],
    ["a@x.test;b@x.test;", ["a@x.test", "b@x.test"]],
    ["a@x.test b@x.test", ["a@x.test", "b@x.test"]],
    ["a@x.test/b@x.test", ["a@x.test", "b@x.test"]],
    ["a@x.test|b@x.test & c@x.test", ["a@x.test", "b@x.test", "c@x.test"]],
    ["a@x.test\nb@x.test", ["a@x.test", "b@x.test"]],
    ["a@x.test、b@x.test；c@x.test", ["a@x.test", "b@x.test", "c@x.test"]],
    ["Jane <a@x.test>, Bob <b@x.test>", ["a@x.test", "b@x.test"]],
    ["mailto:a@x.test,b@x.test", ["a@x.test", "b@x.test"]],
    ["SMTP:a@x.test;smtp:b@x.test", ["a@x.test", "b@x.test"]],
    ["a@x.test; b@localhost; c@x.test", ["a@x.test", "b@localhost", "c@x.test"]],
    ["a@x.test; A@x.test; a@X.test", ["a@x.test", "A@x.test"]],
  ];
  for (const [text, texts] of several)
    it(`is several: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readAddresses(text), { kind: "several", texts });
    });
});

/** Valid local parts and domains, not what MARKED reads otherwise. */
const local = fc
  .oneof(
    fc.stringMatching(/^[A-Za-z0-9!#$%&*+/=?^_`{|}~-]{1,12}(?:\.[A-Za-z0-9'!#+_-]{1,8}){0,2}$/),
    fc.constantFrom('"a b"', '"a,b"', '"a@b"', '"<x>"', "josé", "用户", "o'brien"),
  )
  .filter((text) => parseAddress(`${text}@example.com`).ok);
const domain = fc.constantFrom(
  "example.com",
  "a-b.example.co.uk",
  "EXAMPLE.org",
  "xn--bcher-kva.example",
  "bücher.example",
);

const WRAPPINGS: readonly ((text: string) => string)[] = [
  (text) => ` \u00a0${text}\t`,
  (text) => `\u200b${text}\ufeff`,
  (text) => `<${text}>`,
  (text) => `Jane Doe <${text}>`,
  (text) => `(Jane) ${text}`,
  (text) => `${text} (Jane)`,
  (text) => `[${text}]`,
  (text) => `“${text}”`,
  (text) => `'${text}'`,
  (text) => `Email: ${text}`,
  (text) => `${text};`,
  (text) => `${text}\r\n`,
];

describe("reading a text", () => {
  it("finds any valid address in any wrappings as it was", () => {
    fc.assert(
      fc.property(
        fc.tuple(local, domain),
        fc.array(fc.constantFrom(...WRAPPINGS), { maxLength: 4 }),
        ([user, host], wrappings) => {
          const address = `${user}@${host}`;
          const text = wrappings.reduce((inner, wrap) => wrap(inner), address);
          assert.equal(textOf(readAddresses(text)), address, JSON.stringify(text));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it("gives what it gives again when that is read", () => {
    const piece = fc.constantFrom(
      ...[
        "a",
        "b.c",
        "@",
        "@x.test",
        "a@x.test",
        "'",
        '"',
        "“",
        "”",
        "<",
        ">",
        "(",
        ")",
        " ",
        "\t",
        ",",
        ";",
        ":",
        "/",
      ],
      ...[
        "mailto:",
        "%40",
        "?",
        "=",
        "\u200b",
        "\u200c",
        "：",
        "＠",
        "*",
        "_",
        "{",
        "}",
        "\\",
        ".",
        "é",
        "、",
        "&lt;",
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join("");
        const reading = readAddresses(text);
        const found =
          reading.kind === "one" ? [reading.text] : reading.kind === "several" ? reading.texts : [];
        for (const one of found) {
          const again = readAddresses(one);
          if (again.kind === "one") assert.deepEqual([again.text, again.unwrapped], [one, false], text);
          else assert.equal(reading.kind, "several", text);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  it("takes time in proportion to the text", () => {
    const chars = LIMITS.check.cellChars;
    const piecesOf = [
      "“",
      "“a@b.test ",
      "@",
      "a@",
      '"',
      '\\"',
      '"a',
      "'",
      "a",
      "“a@x.test”",
      "“a@x.te ",
      "mailto:",
      "：",
      "<",
      ".",
      "\u00a0",
      "\u200b",
      "%40",
    ];
    for (const piece of piecesOf)
      for (const end of ["", "@x.test", "b"]) {
        const text = piece.repeat(Math.floor((chars - end.length) / piece.length)) + end;
        const started = process.cpuUsage();
        readAddresses(text);
        const { user, system } = process.cpuUsage(started);
        // A quadratic algorithm takes seconds.
        assert.ok(user + system < 500_000, `${piece}…${end}: ${user + system} us`);
      }
  });
});
