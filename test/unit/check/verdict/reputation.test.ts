import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/check/address.ts";
import { looksRandom, reputationOf, SIGNAL_PENALTY } from "../../../../src/check/verdict/reputation.ts";

function signalsOf(text: string) {
  const result = parseAddress(text);
  assert.ok(result.ok);
  return reputationOf(result.address, null);
}

describe("random-looking local parts", () => {
  const people = [
    "jane.doe",
    "krzysztofkowalczyk",
    "mschwarzschmidt",
    "alexander1984",
    "john2smith1990",
    "christopherrobinson",
    "strengthschmidt",
    "1234567890123",
    "support2024team",
    "user+k3j4h5k3j4h5k3",
  ];
  for (const local of people) it(`${local} is somebody`, () => assert.equal(looksRandom(local), false));
  for (const local of ["x7k2m9q4w1z8", "a1b2c3d4e5f6a7b8", "qzxkwvbnmtrplk", "3f9a0c7e1b5d2468aa0b1c"])
    it(`${local} is a generator's`, () => assert.equal(looksRandom(local), true));
});

describe("reputation", () => {
  it("of an ordinary address is the best", () => {
    assert.deepEqual(signalsOf("jane.doe@example.com"), { score: 100, risk: "low", signals: [] });
  });

  it("of a badly formed one is the worst", () => {
    assert.deepEqual(reputationOf(null, null), { score: 0, risk: "high", signals: ["invalid_format"] });
  });

  it("adds up what speaks against an address", () => {
    assert.deepEqual(signalsOf("jane@gmial.com"), { score: 55, risk: "medium", signals: ["typo_domain"] });
    assert.deepEqual(signalsOf("x7k2m9q4w1z8@example.tk").signals, [
      "random_looking_local_part",
      "abused_tld",
    ]);
    assert.deepEqual(signalsOf("483920@example.com").signals, ["digits_only_local_part"]);
    assert.equal(signalsOf("x7k2m9q4w1z8@gmial.com").risk, "high");
  });

  it("no single signal of an honest address makes the risk high", () => {
    const damning = new Set(["invalid_format", "domain_cannot_receive", "disposable_domain"]);
    for (const [signal, penalty] of Object.entries(SIGNAL_PENALTY))
      if (!damning.has(signal)) assert.ok(100 - penalty >= 40, signal);
  });
});
