import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { renderResult } from "../../../../../src/features/verify/answer/render-result.ts";
import { createTestKeys } from "../../../../../src/features/verify/answer/test-keys.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import { decide } from "../../../../../src/verification/verdict/verdict.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const keys = createTestKeys({ clock: createFakeClock(), slowMs: 0, isPromoted: () => false });
const overlay = { isBlocked: () => false, isDisposable: () => false };

async function shownOf(email: string): Promise<string> {
  return (await keys.answer(email, false, { probing: true, overlay })).email;
}

describe("the email of a result", () => {
  const { emailBytes } = LIMITS.http;

  it("is as it was written, be it an address or not", async () => {
    for (const email of ["valid@example.com", "no address", "", "a\u0000b", "x".repeat(emailBytes)])
      assert.equal(await shownOf(email), email);
  });

  it("is the beginning of what is longer than any address, in whole characters", async () => {
    assert.equal(await shownOf("x".repeat(1_048_576)), "x".repeat(emailBytes));
    assert.equal(await shownOf(`x${"ä".repeat(100_000)}`), `x${"ä".repeat((emailBytes - 2) / 2)}`);
    assert.equal(await shownOf(`xx${"😀".repeat(100_000)}`), `xx${"😀".repeat(emailBytes / 4 - 1)}`);
    assert.equal(await shownOf("\u0000".repeat(70_000)), "\u0000".repeat(emailBytes));
  });
});

describe("the time to ask again", () => {
  const STORED_MS = Date.parse("2026-01-01T00:00:00.000Z");

  function retryAt(ageS: number, retryAfterS: number | null, ttlS = 600): string | null {
    const parsed = parseAddress("jane@one.test");
    assert.ok(parsed.ok);
    const { address } = parsed;
    const smtp = smtpWith({ class: "greylisted", fault: "their_server", code: 450, retryAfterS });
    const evidence = evidenceWith({ smtp });
    const decision = decide({ address, evidence, failure: null, probing: true, blocked: false });
    const entry = { evidence, storedAt: STORED_MS, ttlS };
    const now = STORED_MS + ageS * 1_000;
    const rest = { addresses: 0, cached: ageS > 0, livemode: true, withEvidence: false };
    return renderResult({ email: address.normalised, address, decision, entry, now, ...rest }).retry_at;
  }

  for (const [ageS, namedS, expected] of [
    [0, null, "2026-01-01T00:05:01.000Z"],
    [0, 60, "2026-01-01T00:01:01.000Z"],
    [60, 60, "2026-01-01T00:01:01.000Z"],
    [61, 60, "2026-01-01T00:10:00.000Z"],
    [599, null, "2026-01-01T00:10:00.000Z"],
    [600, null, null],
  ] as const)
    it(`is ${expected} ${ageS} s after a reply that names ${namedS} s: the end of the entry once it is past`, () => {
      assert.equal(retryAt(ageS, namedS), expected);
    });
});
