import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nearestIn } from "../../../../src/verification/lists/domain-set.ts";
import { compileLists, openLists } from "../../../../src/verification/lists/lists.ts";
import { COMPANY_DOMAINS } from "../../../../src/verification/lists/owned.ts";
import { isPromoted, promotionRefusal } from "../../../../src/verification/lists/promoted.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../../src/verification/lists/providers.ts";
import { MAILBOX_PROVIDERS, NEVER_DISPOSABLE } from "../../../../src/verification/lists/trusted.ts";
import fc from "../../../support/properties.ts";

const lists = openLists(compileLists());
const refusal = (domain: string) => promotionRefusal(domain, lists);

describe("what the operator may promote", () => {
  it("a domain of no provider, on a list already or not", () => {
    for (const domain of ["throwaway-nine.com", "10minutemail.com", "mailinator.com", "xn--mnchen-3ya.de"])
      assert.equal(refusal(domain), null, domain);
  });

  it("no mailbox provider, privacy relay or institution, nor what is below one", () => {
    for (const domain of NEVER_DISPOSABLE) {
      const expected = /^is a (mailbox|free-mail) provider's|^is a school's/;
      assert.match(refusal(domain) ?? "", expected, domain);
      assert.match(refusal(`x.${domain}`) ?? "", expected, domain);
    }
    assert.ok(MAILBOX_PROVIDERS.includes("gmail.com"));
  });

  it("nothing of a company's that everybody has mail of, nor of its tenants", () => {
    for (const domain of [
      "onmicrosoft.com",
      "acme.onmicrosoft.com",
      "microsoft.com",
      "amazonses.com",
      "salesforce.com",
    ])
      assert.match(refusal(domain) ?? "", /^is a company's/, domain);
    for (const domain of COMPANY_DOMAINS) assert.notEqual(refusal(domain), null, domain);
  });

  it("nothing of a school, an authority or the military", () => {
    for (const domain of [
      "mit.edu",
      "cs.ox.ac.uk",
      "u-tokyo.ac.jp",
      "nasa.gov",
      "interieur.gouv.fr",
      "who.int",
    ])
      assert.match(refusal(domain) ?? "", /^is a (school's|mailbox)/, domain);
    for (const domain of ["throwaway.ac", "edu-mail.com", "throwaway.gov.com"])
      assert.equal(refusal(domain), null, domain);
  });

  it("no free-mail provider that only the list knows", () => {
    const known = ["0-mail.com", "caramail.com", "hotmail.com.ar", "zonnet.nl"].filter(lists.isFree);
    assert.ok(known.length > 0);
    for (const domain of known) assert.notEqual(refusal(domain), null, domain);
  });

  it("no public suffix, also of the private part of the list: strangers share it", () => {
    for (const domain of ["co.uk", "com.br", "blogspot.com", "github.io", "dyndns.org"])
      assert.match(refusal(domain) ?? "", /public suffix/, domain);
  });

  it("nothing above what is trusted", () => {
    assert.match(refusal("appleid.com") ?? "", /holds privaterelay\.appleid\.com/);
    assert.match(refusal("firefox.com") ?? "", /holds relay\.firefox\.com/);
  });

  it("no name of a provider's mail exchangers", () => {
    for (const [provider, names] of Object.entries(PROVIDER_MX_SUFFIXES)) {
      for (const name of names)
        assert.notEqual(refusal(name.replaceAll("*", "1")), null, `${provider} ${name}`);
    }
  });
});

describe("what promoted domains cover", () => {
  const covered = (domain: string, ...promoted: string[]) => isPromoted(domain, new Set(promoted));

  it("themselves and what is below them", () => {
    assert.ok(covered("throwaway.com", "throwaway.com"));
    assert.ok(covered("a.b.throwaway.com", "throwaway.com"));
    assert.ok(!covered("notthrowaway.com", "throwaway.com"));
    assert.ok(!covered("throwaway.com", "a.throwaway.com"));
    assert.ok(!covered("throwaway.com"));
  });

  it("nothing through a public suffix, and nothing trusted, whatever got into the table", () => {
    assert.ok(!covered("innocent.co.uk", "co.uk", "uk"));
    assert.ok(!covered("somebody.github.io", "github.io"));
    assert.ok(!covered("gmail.com", "gmail.com", "com"));
    assert.ok(!covered("privaterelay.appleid.com", "appleid.com"));
    assert.ok(covered("other.appleid.com", "appleid.com"));
  });
});

describe("the nearest of a set of domains", () => {
  const label = fc.stringMatching(/^[a-c]{1,2}$/);
  const domain = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));

  it("is the longest that the domain is or is below of", () => {
    fc.assert(
      fc.property(fc.array(domain, { maxLength: 8 }), domain, (members, asked) => {
        const above = members.filter((member) => asked === member || asked.endsWith(`.${member}`));
        const longest = above.sort((a, b) => b.length - a.length)[0] ?? null;
        assert.equal(nearestIn(asked, new Set(members)), longest);
      }),
    );
  });
});
