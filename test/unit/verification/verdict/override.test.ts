import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/verification/address/address.ts";
import {
  type Evidence,
  evidenceBut,
  evidenceOf,
  type MxStatus,
} from "../../../../src/verification/evidence.ts";
import { withOverride } from "../../../../src/verification/verdict/override.ts";
import { type DecideInput, decide } from "../../../../src/verification/verdict/verdict.ts";
import { smtpWith } from "../../../support/evidence.ts";
import fc from "../../../support/properties.ts";

const parsed = parseAddress("jane.doe@example.com");
assert.ok(parsed.ok);
const { address } = parsed;

const ACCEPTED = smtpWith();

const anyEvidence: fc.Arbitrary<Evidence> = fc
  .record({
    mx: fc.record({
      status: fc.constantFrom<MxStatus[]>(
        "ok",
        "implicit",
        "no_mx",
        "null_mx",
        "domain_not_found",
        "dns_error",
      ),
      hosts: fc.constant([]),
      provider: fc.constant(null),
      ttlS: fc.nat(),
      fault: fc.constant(null),
    }),
    disposable: fc.constantFrom({ listed: false, source: "none" }, { listed: true, source: "mailchecker" }),
    role: fc.constantFrom(null, "info"),
    freeProvider: fc.boolean(),
    smtp: fc.constantFrom(null, ACCEPTED),
  })
  .map(evidenceOf);

const input = (evidence: Evidence, change: Partial<DecideInput> = {}): DecideInput => ({
  address,
  evidence,
  failure: null,
  probing: true,
  blocked: false,
  ...change,
});

describe("an override", () => {
  it("makes a copy: the evidence is everybody's", () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const before = JSON.stringify(evidence);
        const seen = withOverride(evidence);
        assert.equal(JSON.stringify(evidence), before);
        assert.deepEqual(seen.disposable, { listed: true, source: "override" });
      }),
    );
  });

  it("decides unless the domain certainly takes no mail, in every tier alike, and nowhere before its row", () => {
    fc.assert(
      fc.property(anyEvidence, fc.boolean(), (evidence, probing) => {
        const { row, reputation } = decide(input(withOverride(evidence), { probing }));
        const { status } = evidence.mx;
        const takesMail = status === "ok" || status === "implicit" || status === "dns_error";
        assert.equal(row, takesMail ? "disposable_domain" : status);
        assert.ok(reputation.signals.includes("disposable_domain"));
        const blocked = decide(input(withOverride(evidence), { probing, blocked: true }));
        assert.deepEqual([blocked.row, blocked.riskScore], ["blocklisted_domain", 79]);
      }),
    );
  });

  it("is answered as what a list says is", () => {
    fc.assert(
      fc.property(anyEvidence, fc.boolean(), (evidence, probing) => {
        const listed = evidenceBut(evidence, {
          disposable: { listed: true, source: "fakefilter" },
          smtp: null,
        });
        assert.deepEqual(
          decide(input(withOverride(evidence), { probing })),
          decide(input(listed, { probing })),
        );
      }),
    );
  });
});
