import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRetention } from "../../../../../src/features/verify/cache/retention.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import type { SmtpEvidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";

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
  return createRetention(overridesS)("probed", parsed.address, evidence);
}

describe("how long it is kept that a site blocks us", () => {
  it("lasts until a server may be asked again, in this process alone, where none was asked", () => {
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

describe("how long evidence is kept of addresses that are answered alike", () => {
  it("is for each what it would be for him alone", () => {
    const { mx, disposable } = evidenceWith();
    const said: Partial<SmtpEvidence>[] = [
      { class: "accepted", catchAll: "refused" },
      { class: "accepted", catchAll: "accepted" },
      { class: "accepted", catchAll: "not_probed" },
      { class: "mailbox_not_found", fault: "recipient", code: 550, catchAll: "not_probed" },
      { class: "sender_blocked", fault: "our_address", rule: "breaker_open", retryAfterS: 42 },
      { class: "sender_blocked", fault: "our_address", rule: "breaker_open", retryAfterS: 7 },
      { class: "timeout", fault: "our_network", stage: "connect", code: 0 },
    ];
    const findings = said.flatMap((one) =>
      [1, 2].flatMap((latencyMs) => [
        evidenceWith({ mx, disposable, smtp: smtpWith({ ...one, latencyMs }) }),
        evidenceWith({ mx: { ...mx, ttlS: 9 }, disposable, smtp: smtpWith({ ...one, latencyMs }) }),
        evidenceWith({ mx, disposable, role: "info", smtp: smtpWith({ ...one, latencyMs }) }),
        evidenceWith({ mx, disposable, smtp: null }),
      ]),
    );
    const addresses = ["jane@one.test", "x9k2q7w4z8p1v6@one.test", "jane@two.test"].map((email) => {
      const parsed = parseAddress(email);
      assert.ok(parsed.ok);
      return parsed.address;
    });
    const keep = createRetention({});
    for (const address of [...addresses, ...addresses])
      for (const evidence of [...findings, ...findings])
        assert.deepEqual(keep("probed", address, evidence), createRetention({})("probed", address, evidence));
  });
});

describe("what a domain accepts and refuses by turns", () => {
  it("is decided once for each", () => {
    const { mx, disposable } = evidenceWith();
    const accepted = (latencyMs: number) => evidenceWith({ mx, disposable, smtp: smtpWith({ latencyMs }) });
    const said = { class: "mailbox_not_found", fault: "recipient", code: 550 } as const;
    const refused = (latencyMs: number) =>
      evidenceWith({ mx, disposable, smtp: smtpWith({ ...said, latencyMs }) });
    const parsed = parseAddress("jane@one.test");
    assert.ok(parsed.ok);
    const keep = createRetention({});
    const keepOf = (evidence: ReturnType<typeof accepted>) => keep("probed", parsed.address, evidence);
    const [first, second] = [keepOf(accepted(1)), keepOf(refused(2))];
    for (let i = 3; i < 9; i++) {
      assert.equal(keepOf(accepted(i)), first);
      assert.equal(keepOf(refused(i)), second);
    }
  });
});

describe("how long evidence that addresses share is kept", () => {
  it("is for each what it would be for him alone", () => {
    const shared = [
      evidenceWith(),
      evidenceWith({ mx: { status: "no_mx", hosts: [], provider: null, ttlS: 90, fault: "recipient" } }),
      evidenceWith({ mx: { status: "dns_error", hosts: [], provider: null, ttlS: 0, fault: "our_network" } }),
    ];
    const addresses = ["jane@one.test", "x9k2q7w4z8p1v6@one.test", "1234567@free.tk", "jane@gmial.com"].map(
      (email) => {
        const parsed = parseAddress(email);
        assert.ok(parsed.ok);
        return parsed.address;
      },
    );
    const keep = createRetention({});
    for (const evidence of [...shared, ...shared])
      for (const address of [...addresses, ...addresses])
        for (const scope of ["unprobed", "probed", "unprobed"] as const)
          assert.deepEqual(keep(scope, address, evidence), createRetention({})(scope, address, evidence));
  });
});
