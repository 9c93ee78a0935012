import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../../src/check/address.ts";
import { addressIn, addressOf } from "../../../../../src/services/bulk/csv/cell-address.ts";

describe("the address of a cell", () => {
  for (const text of [
    "valid@example.com",
    " valid@example.com ",
    "o'brien@example.com",
    '"doe, jane"@example.com',
    "'quoted@example.com",
    "",
    "no address",
    "<no address>",
    "Jane <valid@example.com>, Bob <bob@example.com>",
    "Ada L (ada@example.com)",
    "valid@example.com; other@example.com",
    "https://example.com/?a=valid@example.com",
    "mailto:",
    "mailto:a%zz@example.com",
    "mailto:a%0d%0aRCPT@example.com",
    "‹›",
    "‘no address’",
    "<".repeat(1_000),
    `${"x".repeat(1_000)} <valid@example.com>`,
  ])
    it(`is the cell as it is: ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.equal(addressIn(text), text);
    });

  for (const text of [
    ' "valid@example.com"',
    '"valid@example.com" ',
    "'valid@example.com'",
    "<valid@example.com>",
    "Jane <valid@example.com>",
    '"Doe, Jane" <valid@example.com>',
    "jane@example.org <valid@example.com>",
    " mailto:valid@example.com",
    "MAILTO:valid@example.com?subject=a@b",
    "mailto:%76alid%40example.com",
    "‹valid@example.com›",
    "“valid@example.com”",
    "„valid@example.com“",
    "‘valid@example.com’",
    "«\u00a0valid@example.com\u00a0»",
    " \"'Jane' <mailto:valid@example.com>\"",
    "'<valid@example.com>'",
  ])
    it(`is the one within: ${JSON.stringify(text)}`, () => {
      assert.equal(addressIn(text), "valid@example.com");
      assert.equal(addressOf(Buffer.from(text).toString("latin1")), "valid@example.com");
    });

  it("is read by the encoding of the cell", () => {
    assert.equal(addressOf("jos\xe9@example.com"), "josé@example.com");
    assert.equal(addressOf("jos\xc3\xa9@example.com"), "josé@example.com");
    assert.equal(addressOf("\x8bjos\xe9@example.com\x9b"), "josé@example.com");
  });

  it("is none where a character was lost before", () => {
    for (const text of ["jos\ufffd@example.com", '"jos\ufffd"@example.com', "Jane <jos\ufffd@example.com>"])
      assert.equal(parseAddress(addressIn(text)).ok, false, text);
  });
});
