import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, numbered, wrongly } from "../../support/engine-scenario.ts";
import { sayAndClose } from "../../support/mail-world/action.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import { ERROR_LIMIT } from "../../support/mail-world/hosts.ts";

/** A server that hangs up on a session with too many unknown users, and a list with nothing but such. */
const MISSING = 300;
const scenario = engineScenario({ bulk: true });

/** @returns the sessions that got this reply since */
function withLimit(host: MailHost, limit: number): Set<object> {
  const sessions = new Set<object>();
  host.setBehaviour("rcpt", (session) => {
    if (session.rejections < limit) return null;
    sessions.add(session);
    return sayAndClose("421 4.7.0 Error: too many errors");
  });
  return sessions;
}

describe("a server's limit of errors", () => {
  it("above ours is met once by each open session at most, is learnt from that, and loses no recipient", async () => {
    const host = scenario.host("mx.error-limit.test");
    const sessions = withLimit(host, ERROR_LIMIT);
    const met: number[] = [];
    for (const list of ["first", "second"]) {
      const { told } = await scenario.job(numbered(MISSING, (i) => `missing-${list}-${i}@error-limit.test`));
      assert.equal(told.size, MISSING);
      for (const [address, end] of told) assert.equal(brief(end), NOT_FOUND, address);
      met.push(sessions.size);
    }
    const [first = 0, second = 0] = met;
    assert.ok(first <= host.account.maxOpen, `${first} sessions met it, of ${host.account.maxOpen} at once`);
    assert.equal(second, first, "sessions of the second list end before it");
  });

  it("below ours is met, and makes no address invalid or lost", async () => {
    const host = scenario.host("mx.error-tarpit.test");
    const sessions = withLimit(host, 3);
    const { told } = await scenario.job(mixed(90, "b", "error-tarpit.test"));
    assert.deepEqual(wrongly(told), []);
    assert.ok(sessions.size > 0);
    assert.equal(host.account.maxRejectionsPerSession, 4, "three users and the 421");
  });
});
