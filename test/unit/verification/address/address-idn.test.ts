import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/verification/address/address.ts";
import { keepsBidiRule } from "../../../../src/verification/address/bidi.ts";
import fc from "../../../support/properties.ts";

function domainOf(domain: string): string | null {
  const result = parseAddress(`user@${domain}`);
  return result.ok ? result.address.domain : null;
}

describe("domains beyond ASCII", () => {
  const accepted: [string, string][] = [
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["例.l·l", "xn--fsq.xn--ll-0ea"],
    ["例.コ・ム", "xn--fsq.xn--tckweod"],
    ["bu\u0308cher.example", "xn--bcher-kva.example"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["example。com", "example.com"],
    ["💩.la", "xn--ls8h.la"],
    // Mixed scripts deceive, and exist: whether mail can be delivered is the DNS' to say.
    ["п\u0430ypal.com", "xn--ypal-43d3g.com"],
    ["דוגמה.com", "xn--6dbbec0c.com"],
    ["مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv"],
    ["نامه‌ای.com", "xn--mgba3gch31f060k.com"],
    ["क्‍ष.com", "xn--11b2ezcw70k.com"],
    ["xn--BCHER-kva.EXAMPLE", "xn--bcher-kva.example"],
    ["r3---sn.example", "r3---sn.example"],
  ];
  for (const [given, expected] of accepted) it(given, () => assert.equal(domainOf(given), expected));

  const refused = [
    // RFC 5893: letters of both directions, a digit first, both kinds of digits, a hyphen last.
    "aא.com",
    "אa.com",
    "1א.com",
    "א1\u0661.com",
    "א-.com",
    // Punycode that does not decode to its own U-label, or is no Punycode.
    "xn--0.com",
    "xn--abc-.com",
    "xn--a.com",
    "xn--.com",
    // Joiners outside the scripts that need them, a mark at the start, unassigned and private characters.
    "a\u200db.com",
    "\u0300a.com",
    "a\u{e0080}.com",
    "\ue000.com",
    // A label may have 63 octets, counted in its A-label form.
    `${"ü".repeat(60)}.com`,
  ];
  for (const domain of refused) it(`${domain}: refused`, () => assert.equal(domainOf(domain), null));

  it("are counted as they go on the wire", () => {
    const label = `${"d".repeat(61)}.`;
    const rest = `${label.repeat(3)}info`;
    assert.equal(rest.length, 190);
    const short = parseAddress(`${"l".repeat(55)}@λ.${rest}`);
    assert.ok(short.ok);
    assert.equal(Buffer.byteLength(short.address.normalised), 254);
    const long = parseAddress(`${"l".repeat(56)}@λ.${rest}`);
    assert.deepEqual(long, { ok: false, reason: "too_long" });
  });
});

describe("the bidi rule", () => {
  it("asks nothing of names from left to right, and lets marks follow letters", () => {
    assert.ok(keepsBidiRule("1a-b.example"));
    assert.ok(keepsBidiRule("שָׁלוֹם.example"));
    assert.ok(keepsBidiRule("1a.אב2.example"));
    assert.equal(keepsBidiRule("אב.2ג.example"), false);
  });
});

describe("local parts beyond ASCII", () => {
  const isAddress = (local: string) => parseAddress(`${local}@example.com`).ok;

  it("have no invisible characters: fillers, joiners and selectors without anything to join or select", () => {
    const hidden = ["\u3164", "\u115f", "\u1160", "\uffa0", "\u034f", "\u17b4", "\u180b", "\ufe0f", "\ufe00"];
    hidden.push("\u200d", "\u200c", "\u2060", "\u00ad", "\u{e0100}", "\u{e0041}");
    for (const character of hidden)
      for (const local of [character, `admin${character}`, `ad${character}min`, `"a b${character}"`])
        assert.equal(isAddress(local), false, escape(local));
    for (const local of ["\u0646\u0627\u0645\u0647\u200c", "\u2764\u200d", "5\ufe0f", "\u6f22\u200d\u5b57"])
      assert.equal(isAddress(local), false, escape(local));
  });

  it("keep joiners and selectors where a script or an emoji needs them", () => {
    const needed = [
      ...["نامه\u200cای", "ශ්\u200dරී", "क्\u200dष", "क्\u200cष", "مُ\u200cی"],
      ...[
        "❤\ufe0f",
        "👩\u200d🚀",
        "👩🏽\u200d🚀",
        "🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3",
        "葛\u{e0100}",
        "ᠠ\u180b",
      ],
    ];
    for (const local of needed) assert.equal(isAddress(local), true, local);
  });

  it("in NFC, whatever the input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }), (local) => {
        const result = parseAddress(`${local}@example.com`);
        if (!result.ok) return;
        assert.equal(result.address.local, result.address.local.normalize("NFC"));
        const decomposed = parseAddress(`${local.normalize("NFD")}@example.com`);
        assert.ok(decomposed.ok);
        assert.equal(decomposed.address.cacheKey, result.address.cacheKey);
      }),
      { numRuns: 3_000, seed: 6531 },
    );
  });

  it("hold no private use, no lone mark, no escaped non-ASCII", () => {
    for (const local of ["\ue000", "\u{10fdef}", "\u0301a", '"\u0301a"', '"a\\é"', "a\u{e0001}b"])
      assert.equal(parseAddress(`${local}@example.com`).ok, false, JSON.stringify(local));
    for (const local of ["é", "e\u0301a", '"é b"', "用户", "می\u200cخواهم", "👩‍🚀"])
      assert.equal(parseAddress(`${local}@example.com`).ok, true, JSON.stringify(local));
  });

  it("survive any Unicode, lone surrogates included, without a crash", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 }),
        fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 30 }),
        (units, points) => {
          const before = String.fromCharCode(...units);
          const behind = String.fromCodePoint(...points);
          for (const text of [before, behind, `${before}@${behind}.com`, `a@${before}${behind}`]) {
            const result = parseAddress(text);
            if (result.ok)
              assert.doesNotMatch(result.address.normalised, /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u);
          }
        },
      ),
      { numRuns: 3_000, seed: 5891 },
    );
  });
});
