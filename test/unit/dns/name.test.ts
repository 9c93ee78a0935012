import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalizeName } from "../../../src/dns/name.ts";
import { parseServerAddress } from "../../../src/dns/server-address.ts";

describe("a DNS name", () => {
  it("is lower case without the trailing dot; the root is empty", () => {
    assert.equal(normalizeName("Mx.Example.COM."), "mx.example.com");
    assert.equal(normalizeName("_dmarc.x.test"), "_dmarc.x.test");
    assert.equal(normalizeName("."), "");
  });

  it("is nothing but letters, digits, hyphens and underscores in labels of 1 to 63", () => {
    for (const text of ["", "..", "a..b", ".a", "a b", "a\0b", "ü.test", `${"a".repeat(64)}.test`])
      assert.equal(normalizeName(text), null, text);
    const longest = `${"a.".repeat(126)}a`;
    assert.equal(normalizeName(longest), longest);
    assert.equal(normalizeName(`${"a.".repeat(127)}a`), null);
  });
});

describe("the address of a DNS server", () => {
  it("is an address with or without a port", () => {
    assert.deepEqual(parseServerAddress("192.0.2.1"), { address: "192.0.2.1", port: 53, family: 4 });
    assert.deepEqual(parseServerAddress("127.0.0.1:5353"), { address: "127.0.0.1", port: 5353, family: 4 });
    assert.deepEqual(parseServerAddress("[::1]:5353"), { address: "::1", port: 5353, family: 6 });
    assert.deepEqual(parseServerAddress("2001:db8::1"), { address: "2001:db8::1", port: 53, family: 6 });
  });

  it("is nothing else", () => {
    for (const text of ["", "localhost", "127.0.0.1:0", "127.0.0.1:99999", "[::1"])
      assert.throws(() => parseServerAddress(text), /not the address/);
  });
});
