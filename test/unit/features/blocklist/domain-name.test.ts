import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDomainName } from "../../../../src/features/blocklist/domain-name.ts";
import fc from "../../../support/properties.ts";

describe("a domain written by hand", () => {
  const SAME: [string, string][] = [
    ["example.com", "example.com"],
    ["  Example.COM. ", "example.com"],
    ["münchen.example", "xn--mnchen-3ya.example"],
    ["mu\u0308nchen.example", "xn--mnchen-3ya.example"],
    ["XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"],
    ["例え。テスト。", "xn--r8jz45g.xn--zckzah"],
    ["co.uk", "co.uk"],
  ];
  for (const [written, meant] of SAME)
    it(`${JSON.stringify(written)} is ${meant}`, () => assert.equal(readDomainName(written), meant));

  const NONE = [
    "",
    " ",
    ".",
    "com",
    "com.",
    "example.com..",
    ".example.com",
    "a..b",
    "127.0.0.1",
    "0x7f.1",
    "[127.0.0.1]",
    "[::1]",
    "::1",
    "user@example.com",
    "http://example.com",
    "example.com/",
    "*.example.com",
    "exa mple.com",
    "example.com\0",
    "exam\u200bple.com",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(127)}com`,
  ];
  for (const written of NONE)
    it(`${JSON.stringify(written).slice(0, 40)} is not a domain name`, () =>
      assert.equal(readDomainName(written), null));

  it("is the same when it is read again, whatever was written", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string({ unit: "binary" }), fc.string()), (written) => {
        const domain = readDomainName(written);
        if (domain !== null) assert.equal(readDomainName(domain), domain);
      }),
    );
  });
});
