import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { deferrable } from "../../../../../src/features/bulk/run/deferrable.ts";
import { SMTP_STATUSES } from "../../../../../src/features/verify/answer/verification-result.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import {
  type Evidence,
  evidenceBut,
  type SmtpClass,
  type SmtpEvidence,
} from "../../../../../src/verification/evidence.ts";
import { type Reason, VERDICT_ROWS } from "../../../../../src/verification/verdict/table.ts";
import { decide, isUncharged } from "../../../../../src/verification/verdict/verdict.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";

function saying(reply: string, retryAfterS: number | null = null): Evidence {
  const greylisted = {
    class: "greylisted",
    fault: "their_server",
    code: 450,
    catchAll: "not_probed",
  } as const;
  return evidenceWith({ smtp: smtpWith({ ...greylisted, reply, retryAfterS }) });
}

function ending(smtp: Partial<SmtpEvidence>): Evidence {
  const evidence = saying("");
  return evidence.smtp === null ? evidence : evidenceBut(evidence, { smtp: { ...evidence.smtp, ...smtp } });
}

describe("what may be asked about again later", () => {
  it("is a deferred row, one at a site that blocks us, or one cut off from it; no other", () => {
    const reasons = [...new Set(Object.values(VERDICT_ROWS).map(({ reason }) => reason))];
    const found = reasons.filter((reason) => {
      // For reasons that are no class of a probe, the reply's text decides too.
      const smtpClass = SMTP_STATUSES.find((status) => status === reason);
      const evidence = ending({
        class: (smtpClass as SmtpClass | undefined) ?? "smtp_protocol_error",
        code: 0,
      });
      return deferrable({ reason }, evidence) !== null;
    });
    assert.deepEqual(found.sort(), ["greylisted", "our_network", "rate_limited_by_server", "sender_blocked"]);
  });

  it("is every 4xx, and a 5xx whose words say later; a shorter wait where waiting seldom helps", () => {
    const { temporaryMs, seldomMs } = LIMITS.bulk;
    const cases: [Partial<SmtpEvidence>, patienceMs: number | undefined | null][] = [
      [{ class: "smtp_protocol_error", code: 421, reply: "421 4.7.0 Try again later" }, temporaryMs],
      [{ class: "smtp_protocol_error", code: 451, reply: "451", stage: "mail" }, temporaryMs],
      [{ class: "smtp_protocol_error", code: 451, reply: "451 in 60 seconds", retryAfterS: 60 }, undefined],
      [{ class: "smtp_protocol_error", code: 550, reply: "550 oops", rule: "text.passing" }, temporaryMs],
      [{ class: "refused_by_policy", code: 554, reply: "554 Not now, come back later" }, temporaryMs],
      [{ class: "mailbox_full", code: 452, reply: "452 4.2.2 Mailbox full" }, seldomMs],
      [{ class: "mailbox_full", code: 452, reply: "452 4.2.2 Full, try later" }, temporaryMs],
      [{ class: "mailbox_full", code: 552, reply: "552 5.2.2 Full, try again later" }, temporaryMs],
      [{ class: "mailbox_full", code: 552, reply: "552 5.2.2 Mailbox full" }, null],
      [{ class: "refused_by_policy", code: 550, reply: "550 5.7.1 Not allowed" }, null],
      [{ class: "mailbox_not_found", code: 550, reply: "550 No such user, try later" }, null],
      [{ class: "smtp_protocol_error", code: 0, reply: "the server hung up" }, null],
      [{ class: "timeout", code: 0, reply: "no answer" }, null],
    ];
    for (const [smtp, patienceMs] of cases) {
      const found = deferrable({ reason: smtp.class as Reason }, ending(smtp));
      assert.equal(found === null ? null : found.patienceMs, patienceMs, smtp.reply);
    }
  });

  it("is an accepted address whose catch-all probe was put off, not one whose probe got no reply", () => {
    const accepted = { class: "accepted", code: 250 } as const;
    const reason = "catch_all_unconfirmed";
    assert.deepEqual(deferrable({ reason }, ending({ ...accepted, catchAll: "put_off" })), {
      reason,
      retryAfterS: null,
      parked: false,
      patienceMs: LIMITS.bulk.seldomMs,
    });
    assert.equal(deferrable({ reason }, ending({ ...accepted, catchAll: "inconclusive" })), null);
  });

  it("says how long the server wants us to wait, where it does", () => {
    assert.deepEqual(deferrable({ reason: "greylisted" }, saying("450 4.2.0 Greylisted", 300)), {
      reason: "greylisted",
      retryAfterS: 300,
      parked: false,
    });
    const refused = ending({ class: "sender_blocked", fault: "our_address", rule: "dnsbl" });
    assert.deepEqual(deferrable({ reason: "sender_blocked" }, refused), {
      reason: "sender_blocked",
      retryAfterS: null,
      parked: false,
    });
  });

  it("reports rows not asked because the site blocks us, and when it is asked again", () => {
    const held = ending({ class: "sender_blocked", rule: "breaker_open", retryAfterS: 42 });
    assert.deepEqual(deferrable({ reason: "sender_blocked" }, held), {
      reason: "sender_blocked",
      retryAfterS: 42,
      parked: true,
    });
  });

  it("reports rows not asked because our network is down", () => {
    for (const rule of ["no_site_reachable", "failure.cut_off", "failure.proxy"]) {
      const cut = ending({ class: "our_network", fault: "our_network", rule });
      assert.deepEqual(deferrable({ reason: "our_network" }, cut), {
        reason: "our_network",
        retryAfterS: null,
        parked: true,
      });
    }
    const never = ending({ class: "our_network", fault: "our_network", rule: "nothing_reached_yet" });
    assert.equal(deferrable({ reason: "our_network" }, never)?.patienceMs, LIMITS.bulk.unreachedMs);
  });

  it("is not a row that was refused while our sender identity is not in order: it is answered, uncharged", () => {
    const parsed = parseAddress("ghost@one.test");
    assert.ok(parsed.ok);
    for (const smtpClass of ["mailbox_not_found", "mailbox_disabled"] as const) {
      const evidence = ending({ class: smtpClass, fault: "recipient", trusted: false });
      const { address } = parsed;
      const decision = decide({ address, evidence, failure: null, probing: true, blocked: false });
      assert.deepEqual([decision.verdict, decision.reason], ["unknown", "sender_blocked"]);
      assert.deepEqual([decision.fault, isUncharged(decision.reason)], ["our_address", true]);
      assert.equal(deferrable(decision, evidence), null);
    }
  });
});
