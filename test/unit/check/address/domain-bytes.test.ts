import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDomain } from "../../../../src/check/address/domain.ts";
import { DomainsByBytes } from "../../../../src/check/address/domain-bytes.ts";

function find(domains: DomainsByBytes, domain: string) {
  const bytes = Buffer.from(`a@${domain}x`);
  return domains.find(bytes, 2, bytes.length - 1);
}

describe("domains by their bytes", () => {
  it("are the names that the parser gives, however many there are, and again", () => {
    const domains = new DomainsByBytes();
    // More than there are places for, so that many share one.
    const names = Array.from({ length: 300_000 }, (_, i) => `d${i}.example.com`);
    for (let round = 0; round < 2; round++)
      for (const name of names) if (find(domains, name)?.domain !== name) assert.fail(name);
    assert.equal(find(domains, "d1.example.com")?.domain, "d1.example.com");
    assert.equal(find(domains, "one.test"), parseDomain("one.test"));
  });

  it("are told from others that begin or end alike", () => {
    const domains = new DomainsByBytes();
    for (const name of ["one.test", "one.tes", "xone.test", "one.test.xy", "ono.test", "one.test"])
      assert.equal(find(domains, name)?.domain, name);
  });

  it("are none that the parser refuses, and no long ones", () => {
    const domains = new DomainsByBytes();
    assert.equal(find(domains, "single"), null);
    assert.equal(find(domains, "1.2.3.4"), null);
    assert.equal(find(domains, `${"l".repeat(28)}.org`), null);
    assert.equal(find(domains, `${"l".repeat(27)}.org`)?.domain, `${"l".repeat(27)}.org`);
  });
});
