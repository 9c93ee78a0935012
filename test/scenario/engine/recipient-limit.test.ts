import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { say } from "../../support/mail-world/action.ts";

/** 452 4.5.3: a session has had enough recipients. It is no full mailbox, and the next session takes them. */
const settings = { SHAPING: JSON.stringify({ default: { maxConnections: 2 } }) };
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

  it("is no answer for single requests either: each of many at once is asked again in a new session", async () => {
    const host = scenario.site("single.test", "mx.plain.test");
    host.setBehaviour("rcpt", ({ transactions }) =>
      transactions <= PER_SESSION ? null : say("452 4.5.3 Too many recipients"),
    );
    const addresses = mixed(30, "s", "single.test");
    const wanted = addresses.map((address) => (address.startsWith("exists") ? VALID : NOT_FOUND));
    assert.deepEqual(await scenario.askAll(addresses), wanted);
    host.setBehaviour("rcpt", null);
    await scenario.spent(addresses.length);
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
    await scenario.spent(31);
  });
});
