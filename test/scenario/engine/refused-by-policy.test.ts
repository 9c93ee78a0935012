import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";
import { say } from "../../support/mail-world/action.ts";

/**
 * Refusals for the content of mail, or by a local rule of the server: at whatever stage, they say nothing about the
 * mailbox.
 */
const scenario = engineScenario({ bulk: true });
const POLICY = "unknown refused_by_policy their_server";
const CONTENT = "Message rejected due to content policy restrictions";

describe("refusals by policy", () => {
  it("at RCPT make no address invalid, whether the mailbox exists or not", async () => {
    const host = scenario.host("mx.limited.test");
    host.setBehaviour("rcpt", () => say(`550 5.7.1 ${CONTENT}`));
    const refused = mixed(12, "r", "limited.test");
    const { told } = await scenario.job([...refused, "policy@plain.test", ...mixed(12, "n", "plain.test")]);
    for (const address of [...refused, "policy@plain.test"]) {
      const end = told.get(address) ?? assert.fail(address);
      assert.deepEqual([brief(end), end.stage, end.code], [POLICY, "rcpt", 550], address);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
    host.setBehaviour("rcpt", null);
  });

  it("at MAIL neither, even when they speak of unknown users", async () => {
    const host = scenario.host("mx.multiline.test");
    for (const [i, text] of [`550 5.7.1 ${CONTENT}`, "550 5.1.1 User unknown"].entries()) {
      host.setBehaviour("mail", () => say(text));
      const end = await scenario.ask(`missing${i}@multiline.test`);
      assert.equal(end.verdict, "unknown", text);
      assert.equal(end.stage, "mail");
      assert.notEqual(end.fault, "recipient");
    }
    host.setBehaviour("mail", null);
  });

  it("pass: the same server, when it refuses no more, is asked as before", async () => {
    const { told } = await scenario.job([
      ...mixed(6, "later", "limited.test"),
      ...mixed(6, "later", "multiline.test"),
    ]);
    assert.deepEqual(wrongly(told), []);
  });
});
