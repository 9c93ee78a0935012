import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { evaluateSpf } from "../../../../src/egress/self-check/spf.ts";
import { createScriptedResolver, type ScriptedNames } from "../../../support/scripted-resolver.ts";

const NAMES: ScriptedNames = {
  "plain.test": { TXT: ["other", "v=spf1 ip4:203.0.113.0/24 -all"] },
  "exact.test": { TXT: ["v=spf1 ip4:203.0.113.5 -all"] },
  "six.test": { TXT: ["v=spf1 ip6:2001:db8::/32 -all"] },
  "a.test": { TXT: ["v=spf1 a:host.test ~all"] },
  "wide.test": { TXT: ["v=spf1 a:host.test/24//64 ~all"] },
  "mx.test": { TXT: ["v=spf1 mx -all"], MX: ["10 host.test"] },
  "host.test": { A: ["203.0.113.5"], AAAA: ["2001:db8::5"] },
  "include.test": { TXT: ["v=spf1 include:plain.test -all"] },
  "redirect.test": { TXT: ["v=spf1 redirect=plain.test"] },
  "soft.test": { TXT: ["v=spf1 ~all"] },
  "neutral.test": { TXT: ["v=spf1"] },
  "macro.test": { TXT: ["v=spf1 exists:%{i}.x.test -all"] },
  "pointer.test": { TXT: ["v=spf1 ptr -all"] },
  "two.test": { TXT: ["v=spf1 -all", "v=spf1 +all"] },
  "ring.test": { TXT: ["v=spf1 include:ring.test -all"] },
  "broken.test": { TXT: "fail" },
  "silly.test": { TXT: ["v=spf1 ip4:203.0.113.0/99 -all"] },
  "none.test": {},
};

const CASES: [domain: string, address: string, answer: string][] = [
  ["plain.test", "203.0.113.5", "pass"],
  ["plain.test", "203.0.114.5", "fail"],
  ["plain.test", "2001:db8::5", "fail"],
  ["exact.test", "203.0.113.5", "pass"],
  ["exact.test", "203.0.113.6", "fail"],
  ["six.test", "2001:db8::77", "pass"],
  ["six.test", "2001:db9::77", "fail"],
  ["a.test", "203.0.113.5", "pass"],
  ["a.test", "203.0.113.6", "fail"],
  ["a.test", "2001:db8::5", "pass"],
  ["wide.test", "203.0.113.6", "pass"],
  ["wide.test", "2001:db8::6", "pass"],
  ["wide.test", "2001:db8:1::6", "fail"],
  ["mx.test", "203.0.113.5", "pass"],
  ["include.test", "203.0.113.5", "pass"],
  ["include.test", "203.0.114.5", "fail"],
  ["redirect.test", "203.0.113.5", "pass"],
  ["soft.test", "203.0.113.5", "fail"],
  ["neutral.test", "203.0.113.5", "fail"],
  ["macro.test", "203.0.113.5", "unknown"],
  ["pointer.test", "203.0.113.5", "unknown"],
  ["two.test", "203.0.113.5", "unknown"],
  ["ring.test", "203.0.113.5", "unknown"],
  ["broken.test", "203.0.113.5", "unknown"],
  ["silly.test", "203.0.113.5", "unknown"],
  ["none.test", "203.0.113.5", "none"],
  ["nowhere.test", "203.0.113.5", "none"],
];

describe("SPF, as far as the self-check needs it", () => {
  for (const [domain, address, answer] of CASES) {
    it(`${domain} of ${address}: ${answer}`, async () => {
      assert.equal(await evaluateSpf(createScriptedResolver(NAMES), domain, address), answer);
    });
  }

  it("asks no more than RFC 7208 allows, however records lead on", async () => {
    const resolver = createScriptedResolver(NAMES);
    await evaluateSpf(resolver, "ring.test", "203.0.113.5");
    assert.ok(resolver.asked.length <= 11);
  });
});
