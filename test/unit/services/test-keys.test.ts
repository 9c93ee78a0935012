import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { effectiveLimits, type Tier } from "../../../src/core/tiers.ts";
import { createTestKeys } from "../../../src/services/test-keys.ts";
import type { VerificationResult } from "../../../src/services/verification-result.ts";
import type { VerifyContext } from "../../../src/services/verify-input.ts";
import { AdditiveResult, ContractResult } from "../../support/contract.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function context(tier: Tier, blocked = false): VerifyContext {
  return {
    startedMs: 0,
    cancelled: () => false,
    onCancel: () => {},
    actor: {
      teamId: "team_1",
      userId: null,
      keyId: "key_1",
      role: "member",
      livemode: false,
      tier,
      limits: effectiveLimits(tier, {}),
      limitsAsOfMs: 0,
      overlay: { isBlocked: () => blocked },
    },
  };
}

const SLOW_MS = 3000;

async function ask(local: string, tier: Tier = "enterprise"): Promise<VerificationResult> {
  const clock = createFakeClock();
  const keys = createTestKeys({ clock, slowMs: SLOW_MS });
  const answered = keys.answer(
    { email: `${local}@example.com`, refresh: false, withEvidence: false },
    context(tier),
  );
  await clock.advanceAsync(SLOW_MS);
  return answered;
}

/** Outcome by local part: verdict and reason where mailboxes are probed, then where they are not. */
const OUTCOMES: [string, string, string][] = [
  ["valid", "valid accepted_mailbox", "unknown smtp_not_in_tier"],
  ["invalid", "invalid mailbox_not_found", "invalid no_mx"],
  ["risky", "risky catch_all_unconfirmed", "risky role_address"],
  ["unknown", "unknown timeout", "unknown smtp_not_in_tier"],
  ["catch-all", "risky catch_all", "unknown smtp_not_in_tier"],
  ["disposable", "risky disposable_domain", "risky disposable_domain"],
  ["role", "risky role_address", "risky role_address"],
  ["full", "risky mailbox_full", "unknown smtp_not_in_tier"],
  ["greylisted", "unknown greylisted", "unknown smtp_not_in_tier"],
  ["slow", "unknown deadline", "unknown deadline"],
  ["whatever", "unknown timeout", "unknown smtp_not_in_tier"],
];

describe("test keys", () => {
  for (const [local, probed, unprobed] of OUTCOMES) {
    it(`answers ${local} as ${probed}, without probing as ${unprobed}`, async () => {
      for (const [tier, expected] of [
        ["enterprise", probed],
        ["pro_plus", probed],
        ["pro", unprobed],
        ["free", unprobed],
      ] as const) {
        const result = await ask(local, tier);
        assert.equal(`${result.verdict} ${result.reason}`, expected, tier);
        v.assert(ContractResult, result);
        v.assert(AdditiveResult, result);
        assert.deepEqual([result.livemode, result.cached, result.cache_ttl_seconds], [false, false, 0]);
      }
    });
  }

  it("refuses as asked", async () => {
    await assert.rejects(ask("rate-limited"), { code: "rate_limited", status: 429 });
    await assert.rejects(ask("quota-exceeded"), { code: "quota_exceeded", status: 429 });
    await assert.rejects(ask("unavailable-in-tier"), { code: "unavailable_in_tier", status: 402 });
  });

  it("take no local part for more than text", async () => {
    for (const local of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      assert.equal((await ask(local)).reason, "timeout", local);
    }
  });

  it("ignores case and what follows a plus", async () => {
    assert.equal((await ask("VALID+newsletter")).verdict, "valid");
  });

  it("answers a badly formed address as invalid_format", async () => {
    const keys = createTestKeys({ clock: createFakeClock(), slowMs: SLOW_MS });
    for (const email of ["valid", "valid@", "valid@@example.com", "valid@exam ple.com"]) {
      const result = await keys.answer({ email, refresh: false, withEvidence: false }, context("enterprise"));
      assert.deepEqual([result.verdict, result.reason, result.email], ["invalid", "invalid_format", email]);
    }
  });

  it("honours the team's blocklist", async () => {
    const keys = createTestKeys({ clock: createFakeClock(), slowMs: SLOW_MS });
    const input = { email: "valid@example.com", refresh: false, withEvidence: false };
    const result = await keys.answer(input, context("enterprise", true));
    assert.deepEqual([result.reason, result.risk_score], ["blocklisted_domain", 79]);
  });

  it("shows evidence when it is asked for", async () => {
    const keys = createTestKeys({ clock: createFakeClock(), slowMs: SLOW_MS });
    const input = { email: "full@example.com", refresh: false, withEvidence: true };
    const result = await keys.answer(input, context("enterprise"));
    assert.deepEqual(
      [result.evidence?.stage, result.evidence?.rule, result.checks.smtp.code],
      ["rcpt", "test_key", 452],
    );
  });
});
