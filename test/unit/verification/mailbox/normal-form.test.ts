import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ParsedAddress, parseAddress } from "../../../../src/verification/address/address.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../../src/verification/lists/providers.ts";
import { aliasOf } from "../../../../src/verification/mailbox/alias.ts";
import { normalizedEmail } from "../../../../src/verification/mailbox/normal-form.ts";
import { hostedRulesOf } from "../../../../src/verification/mailbox/rules.ts";
import fc from "../../../support/properties.ts";

function addressOf(text: string): ParsedAddress {
  const parsed = parseAddress(text);
  assert.ok(parsed.ok, text);
  return parsed.address;
}

const normalized = (text: string, provider: string | null = null) =>
  normalizedEmail(addressOf(text), provider);

/** An address, its normal form, and the provider of its exchangers where that is known. */
const FORMS: readonly (readonly [written: string, form: string, provider?: string])[] = [
  ["Jane.Doe+news@Gmail.com", "janedoe@gmail.com"],
  ["j.a.n.e@googlemail.com", "jane@gmail.com"],
  ["jane_doe@gmail.com", "jane_doe@gmail.com"],
  ["Jane.Doe+x+y@outlook.com", "jane.doe@outlook.com"],
  ["jane+x@hotmail.co.uk", "jane@hotmail.co.uk"],
  ["jane+x@live.fr", "jane@live.fr"],
  ["jane+x@me.com", "jane@icloud.com"],
  ["jane.doe@mac.com", "jane.doe@icloud.com"],
  ["jane+x@fastmail.com", "jane@fastmail.com"],
  ["shop@jane.fastmail.com", "jane@fastmail.com"],
  ["Shop+x@jane.fastmail.fm", "jane@fastmail.fm"],
  ["Jane+x@pobox.com", "jane@pobox.com"],
  ["shop@jane.pobox.com", "shop@jane.pobox.com"],
  ["J_a.n-e+x@protonmail.com", "jane@proton.me"],
  ["jane@pm.me", "jane@proton.me"],
  ["_@pm.me", "_@proton.me"],
  ["jane-shop@yahoo.com", "jane@yahoo.com"],
  ["jane.doe-shop-2@ymail.com", "jane.doe@ymail.com"],
  ["jane+shop@yahoo.de", "jane+shop@yahoo.de"],
  ["jane-doe@yahoo.co.jp", "jane-doe@yahoo.co.jp"],
  ["jane-doe@ya.ru", "jane.doe@yandex.ru"],
  ["jane.doe+x@yandex.com", "jane.doe@yandex.ru"],
  ["jane+x@zoho.eu", "jane@zoho.eu"],
  ["jane+x@qq.com", "jane+x@qq.com"],
  ["Jane-Doe@gmx.de", "jane-doe@gmx.de"],
  // Domains of their own: at Google a dot counts.
  ["Jane.Doe+x@shop.example", "jane.doe@shop.example", "google"],
  ["jane+x@shop.example", "jane@shop.example", "microsoft365"],
  ["jane+x@shop.example", "jane@shop.example", "fastmail"],
  ["jane-x@shop.example", "jane-x@shop.example", "yahoo"],
  ["jane+x@shop.example", "jane+x@shop.example", "proofpoint"],
  // At unknown providers only the case is normalised.
  ["Jane.Doe+News@Shop.Example", "jane.doe+news@shop.example"],
  ["JÜRGEN@shop.example", "jürgen@shop.example"],
  ["+491701234567@outlook.com", "+491701234567@outlook.com"],
  ["jane.+x@outlook.com", "jane.+x@outlook.com"],
  ['"Jane Doe"@shop.example', '"Jane Doe"@shop.example'],
];

describe("the normal form of an address", () => {
  for (const [written, form, provider] of FORMS)
    it(`of ${written}${provider === undefined ? "" : ` at ${provider}`} is ${form}`, () =>
      assert.equal(normalized(written, provider ?? null), form));

  const local = fc.stringMatching(/^[A-Za-z0-9._+-]{1,30}$/);
  const domains = fc.constantFrom(
    ...["gmail.com", "googlemail.com", "outlook.com", "yahoo.com", "ya.ru", "pm.me", "shop.example"],
    ...["jane.fastmail.com", "fastmail.com", "gmx.de", "me.com", "zoho.com"],
  );
  const provider = fc.constantFrom(null, "google", "microsoft365", "fastmail", "cisco");

  it("is an address, is its own normal form, and does not depend on case", () => {
    fc.assert(
      fc.property(local, domains, provider, (name, domain, by) => {
        const parsed = parseAddress(`${name}@${domain}`);
        if (!parsed.ok) return;
        const form = normalizedEmail(parsed.address, by);
        assert.equal(addressOf(form).normalised, form);
        assert.equal(normalized(form, by), form);
        assert.equal(normalized(`${name.toUpperCase()}@${domain.toUpperCase()}`, by), form);
      }),
      { numRuns: 5_000 },
    );
  });

  it("goes by names of providers that there are", () => {
    const known = Object.keys(PROVIDER_MX_SUFFIXES).filter((name) => hostedRulesOf(name) !== null);
    assert.deepEqual(known.sort(), ["apple", "fastmail", "google", "microsoft365", "proton", "zoho"]);
  });
});

describe("an address that is verified", () => {
  it("keeps its case where the provider is not known to ignore it, and is one mailbox where it is ignored", () => {
    for (const [written, verified] of [
      ["Jane.Doe@Gmail.com", "jane.doe@gmail.com"],
      ["JANE@QQ.com", "jane@qq.com"],
      ["Jane@shop.example", "Jane@shop.example"],
      ["Shop@jane.fastmail.com", "shop@jane.fastmail.com"],
      ['"JANE"@gmail.com', "jane@gmail.com"],
      ["Jane.Doe+News@outlook.com", "jane.doe+news@outlook.com"],
    ] as const) {
      const { normalised, cacheKey, local, domain } = addressOf(written);
      assert.deepEqual([normalised, cacheKey, `${local}@${domain}`], [verified, verified, verified]);
    }
  });
});

describe("an alias", () => {
  const HOSTS: readonly string[] = [];
  const cases: [string, readonly string[], string | null, string | null][] = [
    ["jane@gmail.com", HOSTS, null, null],
    ["jane+x@gmail.com", HOSTS, "plus_tag", null],
    ["jane+x@shop.example", HOSTS, "plus_tag", null],
    ["+49170@shop.example", HOSTS, null, null],
    ["jane-x@yahoo.com", HOSTS, "hyphen_tag", null],
    ["jane+x@yahoo.com", HOSTS, null, null],
    ["jane-x@shop.example", HOSTS, null, null],
    ['"a+b c"@shop.example', HOSTS, null, null],
    ["shop@jane.fastmail.com", HOSTS, "subdomain", null],
    ["x1y2@duck.com", HOSTS, "alias_service", "duckduckgo"],
    ["x+y@mozmail.com", HOSTS, "alias_service", "firefox_relay"],
    ["x@jane.anonaddy.com", HOSTS, "alias_service", "addy_io"],
    ["x@shop.example", ["mx1.simplelogin.co", "mx2.simplelogin.co"], "alias_service", "simplelogin"],
    ["x@shop.example", ["mx1.alias.proton.me"], "alias_service", "proton_pass"],
    ["x@shop.example", ["mail.protonmail.ch"], null, null],
    ["x@notduck.com", HOSTS, null, null],
  ];
  for (const [written, hosts, kind, service] of cases)
    it(`${written} behind ${hosts[0] ?? "nobody"}: ${kind ?? "none"}`, () =>
      assert.deepEqual(aliasOf(addressOf(written), hosts), { kind, service }));
});
