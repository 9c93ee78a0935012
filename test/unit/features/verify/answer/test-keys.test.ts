import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { effectiveLimits, type Tier } from "../../../../../src/config/tiers.ts";
import type { TeamOverlay } from "../../../../../src/features/identity/actor.ts";
import { createTestKeys } from "../../../../../src/features/verify/answer/test-keys.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import { AdditiveResult, ContractResult } from "../../../../support/contract.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

function asker(tier: Tier, overlay: Partial<TeamOverlay> = {}) {
  return {
    probing: effectiveLimits(tier, {}).probing,
    overlay: { isBlocked: () => false, isDisposable: () => false, ...overlay },
  };
}

const SLOW_MS = 3000;
const deps = () => ({ clock: createFakeClock(), slowMs: SLOW_MS, isPromoted: () => false });

async function ask(local: string, tier: Tier = "enterprise"): Promise<VerificationResult> {
  const clock = createFakeClock();
  const keys = createTestKeys({ ...deps(), clock });
  const answered = keys.answer(`${local}@example.com`, false, asker(tier));
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
        const isPutOff = ["greylisted", "mailbox_full"].includes(result.reason);
        assert.equal(result.retry_at !== null, isPutOff, `${result.retry_at}`);
        assert.deepEqual([result.livemode, result.cached, result.cache_ttl_seconds], [false, false, 0]);
      }
    });
  }

  it("answers without a probe where the request declines it, in any tier", async () => {
    const keys = createTestKeys(deps());
    for (const tier of ["enterprise", "pro_plus", "free"] as const) {
      const declining = { ...asker(tier), probing: false, declined: true };
      const { verdict, reason, checks } = await keys.answer("valid@example.com", false, declining);
      assert.deepEqual(
        [verdict, reason, checks.smtp.status, checks.mx.records],
        ["unknown", "smtp_not_requested", "skipped", [{ host: "mx.example.com", preference: 10 }]],
        tier,
      );
    }
  });

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
    const keys = createTestKeys(deps());
    for (const email of ["valid", "valid@", "valid@@example.com", "valid@exam ple.com"]) {
      const result = await keys.answer(email, false, asker("enterprise"));
      assert.deepEqual([result.verdict, result.reason, result.email], ["invalid", "invalid_format", email]);
    }
  });

  it("honours the team's blocklist", async () => {
    const keys = createTestKeys(deps());
    const result = await keys.answer(
      "valid@example.com",
      false,
      asker("enterprise", { isBlocked: () => true }),
    );
    assert.deepEqual([result.reason, result.risk_score], ["blocklisted_domain", 79]);
  });

  for (const [whose, overlay, isPromoted] of [
    ["the team's overrides", { isDisposable: (domain: string) => domain === "example.com" }, () => false],
    ["the operator's", {}, (domain: string) => domain === "example.com"],
  ] as const) {
    it(`honours ${whose}, under the table's order`, async () => {
      const keys = createTestKeys({ ...deps(), isPromoted });
      const ask = (email: string, tier: Tier) => keys.answer(email, false, asker(tier, overlay));
      for (const tier of ["free", "enterprise"] as const) {
        const { verdict, reason, checks } = await ask("valid@example.com", tier);
        assert.deepEqual([verdict, reason], ["risky", "disposable_domain"]);
        assert.deepEqual(checks.disposable, { is_disposable: true, source: "override", status: "checked" });
        assert.deepEqual([checks.smtp.ok, checks.smtp.status], [false, "skipped"]);
        const other = await ask("valid@example.org", tier);
        assert.equal(other.checks.disposable.is_disposable, false);
      }
      assert.equal((await ask("invalid@example.com", "free")).reason, "no_mx");
    });
  }

  it("shows evidence when it is asked for", async () => {
    const keys = createTestKeys(deps());
    const result = await keys.answer("full@example.com", true, asker("enterprise"));
    assert.deepEqual(
      [result.evidence?.stage, result.evidence?.rule, result.checks.smtp.code],
      ["rcpt", "test_key", 452],
    );
  });
});
