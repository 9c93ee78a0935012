import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, VALID, wrongly } from "../../support/engine-scenario.ts";
import { say } from "../../support/mail-world/action.ts";

/** 452 4.5.3: a session has had enough recipients. It is no full mailbox, and the next session takes them. */
const settings = { SHAPING: JSON.stringify({ sites: { "plain.test": { maxConnections: 2 } } }) };
const scenario = engineScenario({ bulk: true, settings });
const PER_SESSION = 5;

describe("a recipient limit", () => {
  it("of a session, in the middle of what is pipelined: those behind go elsewhere, all true", async () => {
    const host = scenario.host("mx.plain.test");
    let refused = 0;
    host.setBehaviour("rcpt", ({ transactions }) => {
      if (transactions <= PER_SESSION) return null;
      refused += 1;
      return say("452 4.5.3 Too many recipients");
    });
    const { told } = await scenario.job(mixed(60, "l", "plain.test"));
    host.setBehaviour("rcpt", null);
    assert.deepEqual(wrongly(told), []);
    assert.ok(refused > 0, "it was met");
    assert.ok(host.account.maxOpen <= 2);
  });

  it("of a transaction is never met: each has one recipient", async () => {
    const { told } = await scenario.job(mixed(30, "t", "one-recipient.test"));
    assert.deepEqual(wrongly(told), []);
    assert.equal(scenario.host("mx.one-recipient.test").account.maxRecipientsPerTransaction, 1);
  });

  it("at the very first of a session is the true end: unknown, not a full mailbox", async () => {
    const host = scenario.host("mx.limited.test");
    host.setBehaviour("rcpt", () => say("452 4.5.3 Too many recipients"));
    const end = await scenario.ask("exists@limited.test");
    assert.equal(brief(end), "unknown rate_limited_by_server their_server");
    host.setBehaviour("rcpt", null);
    assert.equal(brief(await scenario.ask("exists-later@limited.test")), VALID);
    await scenario.spent(1);
  });
});
