import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, numbered, wrongly } from "../../support/engine-scenario.ts";
import { sayAndClose } from "../../support/mail-world/action.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import { ERROR_LIMIT } from "../../support/mail-world/hosts.ts";

/** A server that hangs up on a session with too many unknown users, and a list with nothing but such. */
const MISSING = 300;
const scenario = engineScenario({ bulk: true });

/** @returns how many sessions were told so since */
function withLimit(host: MailHost, limit: number): { goodbyes: number } {
  const seen = { goodbyes: 0 };
  host.setBehaviour("rcpt", ({ rejections }) => {
    if (rejections < limit) return null;
    seen.goodbyes += 1;
    return sayAndClose("421 4.7.0 Error: too many errors");
  });
  return seen;
}

describe("a server's limit of errors", () => {
  it("above ours is never met: sessions end before it, also with 300 unknown users in a row", async () => {
    const host = scenario.host("mx.error-limit.test");
    const seen = withLimit(host, ERROR_LIMIT);
    const { told } = await scenario.job(numbered(MISSING, (i) => `missing-${i}@error-limit.test`));
    assert.equal(told.size, MISSING);
    for (const [address, end] of told) assert.equal(brief(end), NOT_FOUND, address);
    assert.equal(seen.goodbyes, 0);
    const { maxRejectionsPerSession, connections } = host.account;
    assert.ok(maxRejectionsPerSession < ERROR_LIMIT, String(maxRejectionsPerSession));
    assert.ok(connections >= MISSING / ERROR_LIMIT, String(connections));
  });

  it("below ours is met, and condemns and loses nobody", async () => {
    const host = scenario.host("mx.error-tarpit.test");
    const seen = withLimit(host, 3);
    const { told } = await scenario.job(mixed(90, "b", "error-tarpit.test"));
    assert.deepEqual(wrongly(told), []);
    assert.ok(seen.goodbyes > 0);
    assert.equal(host.account.maxRejectionsPerSession, 4, "three users and the 421");
  });
});
