import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDomain } from "../../../../src/check/address/domain.ts";
import { DomainsByBytes, NO_DOMAIN_SLOT } from "../../../../src/check/address/domain-bytes.ts";

function seatOf(domains: DomainsByBytes, domain: string): number {
  const bytes = Buffer.from(`a@${domain}x`);
  return domains.find(bytes, 2, bytes.length - 1);
}

function find(domains: DomainsByBytes, domain: string) {
  const seat = seatOf(domains, domain);
  return seat === NO_DOMAIN_SLOT ? null : domains.nameAt(seat);
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

  it("are those that the parser gives now, once it was asked again", () => {
    const domains = new DomainsByBytes();
    const before = find(domains, "one.test");
    for (let i = 0; i < 300_000; i++) parseDomain(`d${i}.example.org`);
    assert.notEqual(parseDomain("one.test"), before);
    assert.equal(find(domains, "one.test"), before);
    domains.renew(seatOf(domains, "one.test"));
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
    assert.equal(find(domains, `${"l".repeat(36)}.org`), null);
    assert.equal(find(domains, `${"l".repeat(35)}.org`)?.domain, `${"l".repeat(35)}.org`);
  });

  it("have what is kept for them, as long as they are remembered, and nothing of another's", () => {
    const domains = new DomainsByBytes();
    const numbers = new Map(Array.from({ length: 300_000 }, (_, i) => [`d${i}.example.com`, 2 ** 40 + i]));
    for (const [name, number] of numbers) {
      const seat = seatOf(domains, name);
      assert.equal(domains.valueAt(seat), 0);
      domains.setValueAt(seat, number);
    }
    let remembered = 0;
    for (const [name, number] of numbers) {
      const kept = domains.valueAt(seatOf(domains, name));
      if (kept === number) remembered += 1;
      else if (kept !== 0) assert.fail(`${name}: ${kept}`);
    }
    assert.ok(remembered > 200_000, `${remembered}`);
  });

  it("are remembered, nearly all, of as many as fill half of the places", () => {
    const domains = new DomainsByBytes();
    const names = Array.from({ length: 131_072 }, (_, i) => `d${i}.example.com`);
    for (const name of names) domains.setValueAt(seatOf(domains, name), 1);
    const kept = names.filter((name) => domains.valueAt(seatOf(domains, name)) === 1);
    assert.ok(kept.length > 0.99 * names.length, `${kept.length}`);
  });
});
