import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { extractServerText } from "../../../../src/smtp/wire/server-text.ts";

const of = (...lines: string[]) =>
  extractServerText({ code: 450, enhanced: null, lines }).replace(/[ *]+/g, " ").trim();

describe("the words of a server of its own", () => {
  it("are all of a reply that repeats no address", () => {
    assert.equal(
      of("4.7.0 mx.test Error:", "too many connections"),
      "4.7.0 mx.test Error: too many connections",
    );
  });

  it("are none that an address may have brought along", () => {
    assert.equal(of("<a@x.test>: busy"), ": busy");
    assert.equal(of("mail to a@x.test is put off"), "mail to is put off");
    assert.equal(of('<"a b"@x.test>: busy'), ": busy");
    assert.equal(of('no "a b" here'), "no here");
    assert.equal(of('<"a\\" b> c <\\"d"@x.test>: busy'), ": busy", "with marks of its own");
    assert.equal(of('no <"a b', "c d"), "no", "cut off");
    assert.equal(of("no > <a b c"), "no >", "never closed");
    assert.equal(of('for "x" not <a b c'), "for not", "closed and never closed");
  });

  it("are none in a reply whose code is about the mailbox or the message", () => {
    const words = (enhanced: string) =>
      extractServerText({ code: 450, enhanced, lines: [`${enhanced} busy`] });
    assert.deepEqual([words("4.1.1"), words("4.2.2"), words("4.6.0")], ["", "", ""]);
    assert.deepEqual([words("4.3.2"), words("4.7.0")], ["4.3.2 busy", "4.7.0 busy"]);
  });

  it("are found at once in what is long", () => {
    assert.equal(of("<".repeat(65_536)), "");
    assert.equal(of("a".repeat(65_536)).length, 65_536);
  });
});
