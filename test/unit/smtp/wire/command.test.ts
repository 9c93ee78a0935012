import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ehlo, helo, mailFrom, rcptTo } from "../../../../src/smtp/wire/command.ts";
import { parseHeloName, parseMailbox, parseReversePath } from "../../../../src/smtp/wire/mailbox.ts";
import fc from "../../../support/properties.ts";

/** Exactly one command line: one CRLF, at its end, and no other control character. */
function assertOneLine(command: string): void {
  assert.ok(command.endsWith("\r\n"), JSON.stringify(command));
  assert.match(command.slice(0, -2), /^[^\0-\x1f\x7f-\x9f]*$/);
  assert.ok(Buffer.byteLength(command) <= 512, "RFC 5321 §4.5.3.1.4");
}

/** Strings that look like addresses, with hostile characters thrown in. */
const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc
    .tuple(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom("", "@", "\r\n", "\n", "\0", "> SIZE=1", "<", ">", '"', "\u2028", "\u0085", "\ud800"),
      fc.constantFrom("@a.example", "@a.example\r\nRCPT TO:<b@c.example>", "@[127.0.0.1]", "@a b", "@", ""),
    )
    .map((parts) => parts.join("")),
  fc
    .tuple(
      fc.array(fc.constantFrom("a", ".", " ", '"', "\\", "<", ">", "\r", "\n", "\t", "ü"), { maxLength: 12 }),
    )
    .map(([parts]) => `"${parts.join("")}"@a.example`),
);

describe("commands from hostile text", () => {
  it("RCPT TO is refused or is one line that names one path", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const mailbox = parseMailbox(text);
        if (mailbox === null) return;
        const command = rcptTo(mailbox);
        assertOneLine(command);
        assert.equal(command, `RCPT TO:<${text}>\r\n`);
        const outsideQuotes = text.replace(/"(?:\\.|[^"\\])*"/u, "");
        assert.doesNotMatch(outsideQuotes, /[<>\s]/);
        assert.equal(mailbox.utf8, Buffer.byteLength(text) !== text.length);
      }),
      { numRuns: 3_000 },
    );
  });

  it("MAIL FROM and EHLO the same, and ASCII only", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const path = parseReversePath(text);
        if (path !== null) {
          for (const utf8 of [true, false]) assertOneLine(mailFrom(path, utf8));
          assert.match(mailFrom(path, false), /^[ -~]*\r\n$/);
        }
        const name = parseHeloName(text);
        if (name === null) return;
        for (const command of [ehlo(name), helo(name)]) {
          assertOneLine(command);
          assert.match(command, /^(EHLO|HELO) [A-Za-z0-9.-]+\r\n$/);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes ordinary, quoted and international mailboxes", () => {
    for (const text of [
      "a@b.example",
      "a.b+c@x.example",
      '"a b"@x.example',
      '"a\\"<b>"@x.example',
      "jürgen@x.example",
      "o'neil{}@xn--bcher-kva.example",
    ])
      assert.equal(parseMailbox(text)?.address, text);
    assert.equal(parseMailbox("jürgen@x.example")?.utf8, true);
    assert.equal(mailFrom(parseReversePath("") ?? assert.fail(), true), "MAIL FROM:<> SMTPUTF8\r\n");
  });

  it("holds the limits of RFC 5321 §4.5.3.1", () => {
    const local = (length: number) => `${"a".repeat(length)}@b.example`;
    assert.notEqual(parseMailbox(local(64)), null);
    assert.equal(parseMailbox(local(65)), null);
    assert.equal(parseMailbox(`${"ü".repeat(33)}@b.example`), null);
    const domain = (length: number) => `a@${"b".repeat(50)}.${"c".repeat(length - 53)}`;
    assert.equal(parseMailbox(`a@${`${"b".repeat(62)}.`.repeat(4)}ccc`), null, "256 octets and brackets");
    assert.notEqual(parseMailbox(domain(100)), null);
  });

  it("refuses address literals, U-labels, empty parts and the null path", () => {
    for (const text of [
      "",
      "<>",
      "@b.example",
      "a@",
      "a@[127.0.0.1]",
      "a@bücher.example",
      "a@b..example",
      "a b@c.example",
    ])
      assert.equal(parseMailbox(text), null, text);
    assert.equal(parseReversePath("jürgen@x.example"), null);
    assert.equal(parseHeloName("a b"), null);
    assert.equal(parseHeloName(""), null);
  });
});
