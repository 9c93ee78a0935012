import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";
import { OMIT, say } from "../../support/mail-world/action.ts";

/**
 * A server that sends a reply too many or too few in the middle of a pipelined write. Replies carry no address, only
 * their order, so from there on each is another recipient's. (RFC 2920 §3.2 wants them in order; nothing makes a server
 * keep to it.)
 */
const settings = { SHAPING: JSON.stringify({ default: { maxConnections: 1 } }) };
const scenario = engineScenario({ bulk: true, settings });

/** Number of deviations; only with further transactions pipelined behind. */
const SLIPS = 1;

const TOO_MANY = [
  say("250 2.1.5 Ok", "250 2.1.5 Ok"),
  say("550 5.1.1 User unknown", "550 5.1.1 User unknown"),
  say("250 2.1.5 Ok", "550 5.1.1 User unknown"),
];

describe("replies out of step", () => {
  for (const [i, action] of TOO_MANY.entries())
    it(`one too many (${i + 1} of ${TOO_MANY.length}): no recipient has another's verdict, those affected are asked again`, async () => {
      const domain = `many${i}.test`;
      const host = scenario.site(domain, "mx.plain.test");
      let slips = 0;
      host.setBehaviour("rcpt", ({ behind }) => {
        if (slips === SLIPS || behind < 3) return null;
        slips += 1;
        return action;
      });
      const { told } = await scenario.job(mixed(60, "m", domain));
      host.setBehaviour("rcpt", null);
      assert.equal(slips, SLIPS);
      assert.deepEqual(wrongly(told), []);
    });

  it("one too few: the last recipient does not get another's reply", async () => {
    const host = scenario.site("few.test", "mx.plain.test");
    let slips = 0;
    host.setBehaviour("rcpt", ({ behind }) => {
      if (slips === 1 || behind < 3) return null;
      slips += 1;
      return OMIT;
    });
    const done = scenario.job(mixed(60, "f", "few.test"));
    // Both sides wait for each other now, until one has enough: the server, as our own patience is 15 s.
    await scenario.sees("a reply is left out", () => slips === 1);
    host.cut();
    const { told } = await done;
    host.setBehaviour("rcpt", null);
    assert.deepEqual(wrongly(told), []);
  });

  it("at some mailboxes, always: they stay unknown, at no cost, and no other recipient is wrong", async () => {
    const addresses = mixed(40, "a", "plain.test");
    const odd = ["contradicted@plain.test", "refused-twice@plain.test", "contradicted-2@plain.test"];
    addresses.splice(12, 0, ...odd);
    const { told } = await scenario.job(addresses);
    for (const address of odd) {
      const end = told.get(address) ?? assert.fail(address);
      assert.equal(brief(end), "unknown smtp_protocol_error their_server");
      assert.deepEqual([end.stage, end.rule], ["rcpt", "failure.protocol"]);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });
});
