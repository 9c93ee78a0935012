import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { suggestAddress, suggestDomain } from "../../../src/check/suggest.ts";

const load = createRequire(import.meta.url);

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
    ["example.con", "example.com"],
    ["example.ogr", "example.org"],
  ];
  for (const [typed, meant] of slips)
    it(`${typed}: ${meant}`, () => {
      assert.equal(suggestDomain(typed), meant);
      assert.equal(suggestAddress({ local: "Jane+x", domain: typed }), `Jane+x@${meant}`);
      assert.equal(suggestDomain(meant), null);
    });

  it("leaves alone what is somebody's", () => {
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

  it("takes no ending for a property that every object has", () => {
    for (const ending of Object.getOwnPropertyNames(Object.prototype))
      assert.equal(suggestDomain(`foo.${ending}`), null, ending);
    assert.equal(suggestAddress({ local: "a", domain: "foo.constructor" }), null);
  });

  it("hardly ever bothers the customers of real providers", () => {
    const providers: string[] = load("email-providers/all.json");
    const disposable = load("mailchecker").blacklist();
    const suspected = providers.filter((domain) => !disposable.has(domain) && suggestDomain(domain) !== null);
    // 7 of 8 760 when measured, each an unregistered or squatted ending: gmail.co, gmail.om, hotmail.con, ...
    assert.ok(suspected.length <= 10, suspected.join(" "));
    const common: string[] = load("email-providers/common.json");
    assert.deepEqual(
      common.filter((domain) => suggestDomain(domain) !== null),
      [],
    );
  });
});
