import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { type FormatFault, parseAddress } from "../../../../src/verification/address/address.ts";
import { DomainName, nextMemoNumber, parseDomain } from "../../../../src/verification/address/domain.ts";
import fc from "../../../support/properties.ts";

function accepted(input: string) {
  const result = parseAddress(input);
  assert.ok(result.ok, `${JSON.stringify(input)} was refused: ${result.ok ? "" : result.reason}`);
  return result.address;
}

function refused(input: string): FormatFault {
  const result = parseAddress(input);
  assert.ok(!result.ok, `${JSON.stringify(input)} was accepted`);
  return result.reason;
}

describe("parseAddress accepts", () => {
  const cases: [string, string][] = [
    ["user@example.com", "user@example.com"],
    ["User.Name+tag@EXAMPLE.Com", "User.Name+tag@example.com"],
    ["  user@example.com ", "user@example.com"],
    ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ["o'brien@example.co.uk", "o'brien@example.co.uk"],
    ['"john doe"@example.com', '"john doe"@example.com'],
    ['"john"@example.com', "john@example.com"],
    ['"a\\@b"@example.com', '"a@b"@example.com'],
    ['"a\\"b\\\\"@example.com', '"a\\"b\\\\"@example.com'],
    ['".dot"@example.com', '".dot"@example.com'],
    ["user@bücher.example", "user@xn--bcher-kva.example"],
    ["user@xn--bcher-kva.example", "user@xn--bcher-kva.example"],
    ["user@faß.de", "user@xn--fa-hia.de"],
    ["user@例え.テスト", "user@xn--r8jz45g.xn--zckzah"],
    ["user@a-b--c.example", "user@a-b--c.example"],
    ["user@1.2.example", "user@1.2.example"],
    ["пользователь@example.com", "пользователь@example.com"],
    ["ju\u0308rgen@example.com", "j\u00fcrgen@example.com"],
  ];
  for (const [input, normalised] of cases) {
    it(input, () => {
      const address = accepted(input);
      assert.equal(address.normalised, normalised);
      assert.equal(address.normalised, `${address.local}@${address.domain}`);
      assert.equal(address.cacheKey, normalised);
    });
  }

  it("keeps quotes only where the content needs them", () => {
    assert.equal(accepted('"a b"@example.com').normalised, '"a b"@example.com');
    assert.equal(accepted('"ab"@example.com').normalised, "ab@example.com");
    assert.equal(accepted('"jürgen"@bücher.example').normalised, "jürgen@xn--bcher-kva.example");
  });

  it("lengths up to the limit of RFC 5321, and not one more", () => {
    const local = "l".repeat(64);
    const label = "d".repeat(61);
    const domain = `${label}.${label}.${label}.abc`;
    assert.equal(domain.length, 189);
    accepted(`${local}@${domain}`);
    assert.equal(accepted(`${"ü".repeat(32)}@example.com`).local.length, 32);
    accepted(`x@${"d".repeat(63)}.example`);
    assert.equal(accepted(`${"l".repeat(60)}@${domain}.cd`).normalised.length, 253);
    assert.equal(accepted(`${"l".repeat(61)}@${domain}.cd`).normalised.length, 254);
    assert.equal(refused(`${"l".repeat(62)}@${domain}.cd`), "too_long");
  });
});

describe("parseAddress refuses", () => {
  const cases: [string, FormatFault][] = [
    ["", "empty"],
    ["   ", "empty"],
    ["plain", "no_at_sign"],
    ["@example.com", "local_part_empty"],
    ['""@example.com', "local_part_empty"],
    ["user@", "domain_empty"],
    ["a@b@example.com", "domain_syntax"],
    [".user@example.com", "local_part_syntax"],
    ["user.@example.com", "local_part_syntax"],
    ["us..er@example.com", "local_part_syntax"],
    ["us er@example.com", "local_part_syntax"],
    ["jos\ufffd@example.com", "local_part_syntax"],
    ["us(comment)er@example.com", "local_part_syntax"],
    ['us"er@example.com', "local_part_syntax"],
    ['"user@example.com', "local_part_syntax"],
    ['"us"er@example.com', "local_part_syntax"],
    ["<user@example.com>", "local_part_syntax"],
    ["Name <user@example.com>", "local_part_syntax"],
    ["user,other@example.com", "local_part_syntax"],
    ["us\u200ber@example.com", "local_part_syntax"],
    ["us\u202eer@example.com", "local_part_syntax"],
    ["us\u00a0er@example.com", "local_part_syntax"],
    ["us\ud800er@example.com", "local_part_syntax"],
    [`${"l".repeat(65)}@example.com`, "local_part_too_long"],
    [`${"ü".repeat(33)}@example.com`, "local_part_too_long"],
    ["user@localhost", "domain_single_label"],
    ["user@com", "domain_single_label"],
    ["user@[192.0.2.1]", "address_literal"],
    ["user@[IPv6:2001:db8::1]", "address_literal"],
    ["user@192.0.2.1", "domain_syntax"],
    ["user@0x7f.1", "domain_syntax"],
    ["user@127.0x1", "domain_syntax"],
    ["user@１２７.０.０.１", "domain_syntax"],
    ["user@example.com.", "domain_syntax"],
    ["user@.example.com", "domain_syntax"],
    ["user@example..com", "domain_syntax"],
    ["user@-example.com", "domain_syntax"],
    ["user@example-.com", "domain_syntax"],
    ["user@exa_mple.com", "domain_syntax"],
    ["user@example.c", "domain_syntax"],
    ["user@example.123", "domain_syntax"],
    ["user@exa%6dple.com", "domain_syntax"],
    ["user@example.com/path", "domain_syntax"],
    ["user@example.com?x=1", "domain_syntax"],
    ["user@example.com#x", "domain_syntax"],
    ["user@example.com:25", "domain_syntax"],
    ["user@example\\.com", "domain_syntax"],
    ["user@exa\u00admple.com", "domain_syntax"],
    ["user@exa\u200bmple.com", "domain_syntax"],
    ["user@example.com\u3000", "domain_syntax"],
    ["user@example．com／x", "domain_syntax"],
    ["user@xn--a.com", "domain_syntax"],
    ["user@example.com(comment)", "domain_syntax"],
    [`user@${"d".repeat(64)}.com`, "domain_syntax"],
    [`user@${"d.".repeat(127)}com`, "domain_too_long"],
    [`${"x".repeat(2000)}@example.com`, "too_long"],
  ];
  for (const [input, reason] of cases)
    it(`${JSON.stringify(input.slice(0, 60))}: ${reason}`, () => assert.equal(refused(input), reason));
});

describe("parseAddress and hostile input", () => {
  it("no control character gets through, wherever it stands", () => {
    const controls = [...Array(32).keys(), 127, 128, 133, 159].map((code) => String.fromCharCode(code));
    for (const bad of controls) {
      for (const form of [
        `${bad}a@b.example`,
        `a${bad}@b.example`,
        `"a${bad}"@b.example`,
        `"a\\${bad}"@b.example`,
      ])
        assert.equal(refused(form), "control_character");
      assert.equal(refused(`a@b${bad}.example`), "control_character");
      assert.equal(refused(`a@b.example${bad}`), "control_character");
    }
  });

  it("no address smuggles a command", () => {
    for (const input of [
      "a@b.example>\r\nRCPT TO:<c@d.example",
      "a@b.example\r\nDATA",
      '"a\r\nRSET"@b.example',
      "a@b.example> ORCPT=x",
      "a@b.example SIZE=1",
      "a>@b.example",
      "a@b.example\n",
      "a\u2028@b.example",
    ])
      refused(input);
  });

  /** Text biased towards what could break a parser of addresses. */
  const hostile = fc.oneof(
    fc.string({ unit: "binary", maxLength: 100 }),
    fc
      .array(
        fc.oneof(
          fc.constantFrom(
            "@",
            '"',
            "\\",
            ".",
            " ",
            "<",
            ">",
            "(",
            "[",
            "%",
            "\r\n",
            "\0",
            "xn--",
            "ü",
            "。",
            "-",
            "\u037e",
          ),
          fc.string({ maxLength: 4 }),
          fc.constantFrom("user", "example.com", "@example.com", "a.b"),
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join("")),
    fc.emailAddress(),
  );

  it("what is accepted is printable, bounded, canonical and its own normal form", () => {
    let seen = 0;
    fc.assert(
      fc.property(hostile, (input) => {
        const result = parseAddress(input);
        if (!result.ok) return;
        seen++;
        const { normalised, local, domain } = result.address;
        assert.doesNotMatch(normalised, /[\p{Cc}\p{Cs}\u2028\u2029]/u);
        assert.match(domain, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
        assert.ok(Buffer.byteLength(normalised) <= 254 && Buffer.byteLength(local) <= 64);
        if (!local.startsWith('"')) assert.doesNotMatch(local, /[\s<>"\\@()[\],;:]/);
        const again = parseAddress(normalised);
        assert.ok(again.ok);
        assert.deepEqual(again.address, result.address);
      }),
      { numRuns: 5_000, seed: 5321 },
    );
    assert.ok(seen > 500, `only ${seen} accepted: the property proves nothing`);
  });
});

describe("the memo of domains", () => {
  it("says of a name what it said before, whatever its length and case", () => {
    const label = fc.stringMatching(/^[A-Za-z0-9]{1,20}$/);
    const domain = fc
      .array(label, { minLength: 1, maxLength: 8 })
      .map((labels) => `${labels.join(".")}.Test`);
    const check = (text: string) => {
      const wanted = new DomainName(text.toLowerCase());
      for (const time of ["first", "second"]) assert.deepEqual(parseDomain(text), wanted, time);
      assert.deepEqual(parseDomain(text.toLowerCase()), wanted);
    };
    fc.assert(fc.property(domain, check));
    const most = LIMITS.check.domainNameChars;
    const start = "Ab".repeat((most - 30) / 2);
    for (const length of [most - 1, most, most + 1])
      check(`${start}.${"X".repeat(length - start.length - 6)}.Test`);
  });

  it("has one object for all readers of a name, to which others attach what they know of it", () => {
    const read = (text: string) => {
      const name = parseDomain(text);
      assert.ok(name.ok);
      return name;
    };
    const name = read("kept.test");
    name.templatesMemoNumber = nextMemoNumber();
    assert.equal(read("kept.test"), name);
    assert.equal(read("other.test").templatesMemoNumber, 0);
    assert.notEqual(nextMemoNumber(), name.templatesMemoNumber);
    const long = `${"a.".repeat(LIMITS.check.domainNameChars / 2)}test`;
    assert.notEqual(read(long), read(long), "would keep the text it is a piece of");
  });
});
