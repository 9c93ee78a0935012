import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/check/address.ts";
import type { SmtpEvidence } from "../../../../src/check/evidence.ts";
import { createKeeping } from "../../../../src/services/verify/keeping.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";

function kept(smtp: Partial<SmtpEvidence>, overridesS = {}) {
  const parsed = parseAddress("someone@example.test");
  assert.ok(parsed.ok);
  const blocked = {
    class: "sender_blocked",
    fault: "our_address",
    stage: "connect",
    catchAll: "not_probed",
  } as const;
  const evidence = evidenceWith({ smtp: smtpWith({ ...blocked, ...smtp }) });
  return createKeeping(overridesS)("probed", parsed.address, evidence);
}

describe("how long it is kept that a site blocks us", () => {
  it("is until somebody may be asked again, in this process alone, where nobody was asked", () => {
    assert.deepEqual(kept({ rule: "breaker_open", retryAfterS: 42 }), { ttlS: 42, shared: false });
    assert.deepEqual(kept({ rule: "breaker_open", retryAfterS: null }), { ttlS: 0, shared: false });
  });

  it("is no longer than any answer of its kind", () => {
    const { ttlS } = kept({ rule: "breaker_open", retryAfterS: 900 });
    assert.equal(ttlS, kept({ rule: "dnsbl", retryAfterS: null }).ttlS);
    const short = { sender_blocked: 5 };
    assert.equal(kept({ rule: "breaker_open", retryAfterS: 900 }, short).ttlS, 5);
  });

  it("is as of any answer where a server said so, still in this process alone", () => {
    assert.deepEqual(kept({ rule: "dnsbl", retryAfterS: null }), { ttlS: 300, shared: false });
  });
});

describe("how long it is kept that a server put us off", () => {
  it("is as long as the table says, whatever delay it named: the recheck replaces it", () => {
    const greylisted = (retryAfterS: number | null) =>
      kept({ class: "greylisted", fault: "their_server", stage: "rcpt", rule: "r", retryAfterS }).ttlS;
    for (const named of [null, 1, 60, 3_600]) assert.equal(greylisted(named), 600);
  });
});
