import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/verification/address/address.ts";
import type {
  DomainEvidence,
  Evidence,
  EvidenceParts,
  MxStatus,
} from "../../../../src/verification/evidence.ts";
import {
  looksRandom,
  reputationOf,
  SIGNAL_PENALTY,
} from "../../../../src/verification/verdict/reputation.ts";
import { evidenceWith } from "../../../support/evidence.ts";

function signalsOf(text: string) {
  const result = parseAddress(text);
  assert.ok(result.ok);
  return reputationOf(result.address, null);
}

const GOOD: DomainEvidence = { spf: true, dmarc: true, listedBy: null, parkedAddress: false };

function evidenceOf(
  hosts: string[],
  domain: Partial<DomainEvidence> = {},
  more: Partial<EvidenceParts> = {},
  status: MxStatus = "ok",
): Evidence {
  return evidenceWith({
    mx: { status, hosts, provider: null, ttlS: 60, fault: null },
    domain: { ...GOOD, ...domain },
    ...more,
  });
}

function reputationAt(text: string, evidence: Evidence) {
  const result = parseAddress(text);
  assert.ok(result.ok);
  return reputationOf(result.address, evidence);
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
    assert.deepEqual(signalsOf("jane@gmial.com"), { score: 65, risk: "medium", signals: ["typo_domain"] });
    assert.deepEqual(signalsOf("x7k2m9q4w1z8@example.tk").signals, [
      "random_looking_local_part",
      "abused_tld",
    ]);
    assert.deepEqual(signalsOf("483920@example.com").signals, ["digits_only_local_part"]);
    assert.equal(signalsOf("x7k2m9q4w1z8@gmial.com").risk, "high");
  });

  it("no single signal of an honest address makes the risk high", () => {
    const damning = new Set([
      "invalid_format",
      "domain_cannot_receive",
      "disposable_domain",
      "parked_domain",
    ]);
    for (const [signal, penalty] of Object.entries(SIGNAL_PENALTY))
      if (!damning.has(signal)) assert.ok(100 - penalty >= 40, signal);
  });
});

describe("signals of the domain", () => {
  const HOST = ["mx.example.com"];

  it("say what the DNS lacks, and hardly count", () => {
    assert.deepEqual(reputationAt("jane@example.com", evidenceOf(HOST)).signals, []);
    const bare = reputationAt("jane@example.com", evidenceOf(HOST, { spf: false, dmarc: false }));
    assert.deepEqual(bare, { score: 95, risk: "low", signals: ["no_spf", "no_dmarc"] });
    assert.ok(SIGNAL_PENALTY.no_spf <= 5 && SIGNAL_PENALTY.no_dmarc <= 5);
  });

  it("nothing of a server that was not asked or did not answer", () => {
    assert.deepEqual(
      reputationAt("jane@example.com", evidenceOf(HOST, { spf: null, dmarc: null })).signals,
      [],
    );
    const unasked = evidenceOf(HOST, {}, { domain: undefined });
    assert.deepEqual(reputationAt("jane@example.com", unasked).signals, []);
  });

  it("parked: by its exchangers, or by its addresses where it has none", () => {
    const parked = reputationAt("jane@example.com", evidenceOf(["park-mx.above.com"]));
    assert.deepEqual([parked.risk, parked.signals], ["high", ["parked_domain"]]);
    const byAddress = evidenceOf(["example.com"], { parkedAddress: true }, {}, "implicit");
    assert.deepEqual(reputationAt("jane@example.com", byAddress).signals, ["implicit_mx", "parked_domain"]);
  });

  it("throw-away exchangers beside others, and blocklists", () => {
    const some = reputationAt("jane@example.com", evidenceOf(["in.mail.tm", "mx.example.com"]));
    assert.deepEqual([some.risk, some.signals], ["medium", ["disposable_mx"]]);
    const listed = reputationAt("jane@example.com", evidenceOf(HOST, { listedBy: "dbl.test" }));
    assert.deepEqual([listed.risk, listed.signals], ["medium", ["listed_domain"]]);
    const typo = reputationAt("jane@gmial.com", evidenceOf(HOST, { listedBy: "dbl.test" }));
    assert.equal(typo.risk, "high");
  });

  it("none where the domain takes no mail: that is worse", () => {
    const gone = evidenceOf([], { spf: false, dmarc: false, listedBy: "dbl.test" }, {}, "domain_not_found");
    assert.deepEqual(reputationAt("jane@example.com", gone).signals, ["domain_cannot_receive"]);
  });

  it("a name near a provider's with what one small honest domain lacks is no high risk", () => {
    const bare = evidenceOf(["gmall.com"], { spf: false, dmarc: false }, {}, "implicit");
    const { risk, signals } = reputationAt("jane@gmall.com", bare);
    assert.deepEqual(signals, ["typo_domain", "implicit_mx", "no_spf", "no_dmarc"]);
    assert.equal(risk, "medium");
    const weak = ["abused_tld", "implicit_mx", "role_address", "digits_only_local_part", "no_spf"] as const;
    for (const signal of weak)
      assert.ok(100 - SIGNAL_PENALTY.typo_domain - SIGNAL_PENALTY[signal] >= 40, signal);
  });

  it("all that an honest small company carries together is no high risk", () => {
    const small = evidenceOf(
      ["example.tk"],
      { spf: false, dmarc: false },
      { role: "info", freeProvider: true },
      "implicit",
    );
    const { risk, score, signals } = reputationAt("info@example.tk", small);
    assert.deepEqual(signals.sort(), [
      ...["abused_tld", "free_provider", "implicit_mx", "no_dmarc", "no_spf", "role_address"],
    ]);
    assert.equal(score, 40);
    assert.equal(risk, "medium");
  });

  it("nor does any weak one beside no SPF and no DMARC make it worse than medium", () => {
    const weak = Object.values(SIGNAL_PENALTY).filter((penalty) => penalty <= 45);
    for (const penalty of weak)
      assert.ok(100 - penalty - SIGNAL_PENALTY.no_spf - SIGNAL_PENALTY.no_dmarc >= 40, String(penalty));
  });
});
