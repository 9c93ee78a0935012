import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/verification/address/address.ts";
import {
  suggestAddress,
  suggestDomain,
  suggestForMalformed,
} from "../../../../src/verification/suggest/suggest.ts";
import fc from "../../../support/properties.ts";

describe("did you mean", () => {
  const slips: [string, string][] = [
    ["gmial.com", "gmail.com"],
    ["gmai.com", "gmail.com"],
    ["gmaill.com", "gmail.com"],
    ["gnail.com", "gmail.com"],
    ["mgail.com", "gmail.com"],
    ["gmail.con", "gmail.com"],
    ["gmial.con", "gmail.com"],
    ["gmail.co", "gmail.com"],
    ["gmail.cm", "gmail.com"],
    ["hotmial.com", "hotmail.com"],
    ["hotmai.com", "hotmail.com"],
    ["outlok.com", "outlook.com"],
    ["outllok.com", "outlook.com"],
    ["yaho.com", "yahoo.com"],
    ["yahooo.com", "yahoo.com"],
    ["iclod.com", "icloud.com"],
    ["protonmal.com", "protonmail.com"],
    ["wanado.fr", "wanadoo.fr"],
    ["gmail.om", "gmail.com"],
    ["gmailc.om", "gmail.com"],
    ["gmailcom.com", "gmail.com"],
    ["gmail.c0m", "gmail.com"],
    ["gmail.comfoo", "gmail.com"],
    ["www.gmail.com", "gmail.com"],
    ["otmail.com", "hotmail.com"],
    ["hotmail.couk", "hotmail.co.uk"],
    ["yahoo.co.ul", "yahoo.co.uk"],
    ["yaho.fr", "yahoo.fr"],
    ["icould.com", "icloud.com"],
    ["gmx.ed", "gmx.de"],
    ["web.dee", "web.de"],
    ["t-onlin.de", "t-online.de"],
    ["orange.ff", "orange.fr"],
    ["live.con", "live.com"],
    ["aol.cm", "aol.com"],
    ["comcast.ney", "comcast.net"],
    ["example.con", "example.com"],
    ["example.comm", "example.com"],
    ["mail.example.cmo", "mail.example.com"],
    ["example.ogr", "example.org"],
  ];
  for (const [typed, meant] of slips)
    it(`${typed}: ${meant}`, () => {
      assert.equal(suggestDomain(typed), meant);
      assert.equal(suggestAddress({ local: "Jane+x", domain: typed }), `Jane+x@${meant}`);
      assert.equal(suggestDomain(meant), null);
    });

  it("leaves real domains alone", () => {
    const real = [
      "ymail.com",
      "mail.com",
      "email.com",
      "gmx.com",
      "yahoo.gr",
      "hotmail.gr",
      "hotmail.cl",
      "aol.com",
    ];
    const others = [
      "example.com",
      "google.com",
      "cloud.com",
      "look.com",
      "male.com",
      "hotel.com",
      "gemail.example",
    ];
    for (const domain of [...real, ...others]) assert.equal(suggestDomain(domain), null, domain);
  });

  it("leaves alone names that another letter makes, where neither finger nor eye went wrong", () => {
    const first = "fanmail.net danmail.net dotmail.com dotmail.co.uk treenet.de greenet.de mindstream.net";
    const middle =
      "hostmail.com hostmail.de hostmail.nl itcloud.com incloud.com ipcloud.com aicloud.com gomail.com";
    const other =
      "yazoo.com yazoo.co.uk freinet.de bluewine.ch bluewind.ch bluewing.ch outbook.com outwork.com liber.it " +
      "veriton.net bigbond.com televet.be";
    for (const domain of `${first} ${middle} ${other}`.split(" "))
      assert.equal(suggestDomain(domain), null, domain);
    for (const ending of ["gob", "gub", "gouv", "govt"]) assert.equal(suggestDomain(`salud.${ending}`), null);
  });

  it("takes no ending for a property that every object has", () => {
    for (const ending of Object.getOwnPropertyNames(Object.prototype))
      assert.equal(suggestDomain(`foo.${ending}`), null, ending);
    assert.equal(suggestAddress({ local: "a", domain: "foo.constructor" }), null);
  });

  it("leaves alone endings of networks of one's own, and whatever the root has", () => {
    for (const ending of [
      "test",
      "local",
      "lan",
      "corp",
      "dom",
      "internal",
      "co",
      "cm",
      "om",
      "community",
      "cam",
    ])
      assert.equal(suggestDomain(`example.${ending}`), null, ending);
    assert.equal(suggestDomain("example.xn--cm-0ka"), null);
  });

  it("takes what is stuck to an ending for a slip while it is short", () => {
    assert.equal(suggestDomain("example.comfoo"), "example.com");
    assert.equal(suggestDomain("example.netzwerk"), null);
    assert.equal(suggestDomain("gmail.comfacebook"), "gmail.com");
  });

  it("takes a dot that is elsewhere for a slip, a dot more for a subdomain", () => {
    assert.equal(suggestDomain("hotmailc.om"), "hotmail.com");
    assert.equal(suggestDomain("yahooc.o.uk"), "yahoo.co.uk");
    for (const domain of ["hot.mail.com", "i.cloud.com", "out.look.com"])
      assert.equal(suggestDomain(domain), null, domain);
  });

  it("takes two dropped letters, or a first letter, for another name", () => {
    for (const domain of ["hmail.com", "fmail.com", "vmail.com", "tmail.com", "otmil.com", "rogrs.com"])
      assert.equal(suggestDomain(domain), null, domain);
  });

  it("says the same when it remembers, and of whatever comes", () => {
    for (let i = 0; i < 10_000; i++) assert.equal(suggestDomain(`company${i}.com`), null);
    assert.equal(suggestDomain("gmial.com"), "gmail.com");
    assert.equal(suggestDomain("gmial.com"), "gmail.com");
    const long = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.con`;
    assert.equal(suggestDomain(long), `${long.slice(0, -3)}com`);
  });
});

describe("did you mean, of what is no address", () => {
  const slips: [string, string | null][] = [
    ["Jane@gmailcom", "jane@gmail.com"],
    ["jane@gmail", "jane@gmail.com"],
    ["jane@yahoocouk", "jane@yahoo.co.uk"],
    ["jane@gmail..com", "jane@gmail.com"],
    ["jane@gmail,com", "jane@gmail.com"],
    ["jane@gmail. com", "jane@gmail.com"],
    ["jane@gmail.com.", "jane@gmail.com"],
    ["jane@GMX.d", "jane@gmx.de"],
    ["jane@web.d", "jane@web.de"],
    ["jane@orange.f", "jane@orange.fr"],
    ["jane@t-online.d", "jane@t-online.de"],
    ["jane@hotmial.c", "jane@hotmail.com"],
    ["jane@localhost", null],
    ["jane@web", null],
    ["jane@example.c", null],
    ["jane@", null],
    ["@gmailcom", null],
    ["gmail.com", null],
    ["ja ne@gmailcom", null],
    ["jane@[192.0.2.1]", null],
    ["jane\n@gmailcom", null],
    [`${"j".repeat(400)}@gmailcom`, null],
  ];
  for (const [typed, meant] of slips)
    it(`${JSON.stringify(typed.slice(0, 30))}: ${meant}`, () =>
      assert.equal(suggestForMalformed(typed), meant));

  it("suggests nothing but addresses, whatever the text", () => {
    const parts = fc.constantFrom(
      "@",
      "gmail",
      "gmailcom",
      "hotmail",
      ".",
      "..",
      ",",
      " ",
      "com",
      "c",
      "<",
      '"',
      "\\",
      "ü",
    );
    const text = fc.oneof(
      fc
        .array(fc.oneof(parts, fc.string({ unit: "binary", maxLength: 3 })), { maxLength: 10 })
        .map((all) => all.join("")),
      fc.string({ unit: "binary", maxLength: 60 }),
      parts.map((part) => `jane@${part}`),
    );
    let suggested = 0;
    fc.assert(
      fc.property(text, (typed) => {
        const meant = suggestForMalformed(typed);
        if (meant === null) return;
        suggested++;
        assert.equal(parseAddress(meant).ok, true);
      }),
      { numRuns: 3_000, seed: 321 },
    );
    assert.ok(suggested > 100, `only ${suggested}: the property proves nothing`);
  });
});
