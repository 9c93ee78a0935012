import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";
import { type Action, DROP, RESET } from "../../support/mail-world/action.ts";

/** A connection that is gone between RCPT and its reply, with further transactions pipelined behind. */
/** An upper bound: the length that a session reached is remembered, and may end later ones earlier. */
const DROPS = 2;
const settings = { SHAPING: JSON.stringify({ default: { maxConnections: 1 } }) };
const scenario = engineScenario({ bulk: true, settings });

describe("a drop between RCPT and its reply", () => {
  const ways: [how: string, action: Action][] = [
    ["closed", DROP],
    ["reset", RESET],
  ];
  for (const [how, action] of ways)
    it(`${how}: the one in turn and all behind it are asked again, and have their true verdicts`, async () => {
      const host = scenario.site(`${how}.test`, "mx.plain.test");
      let drops = 0;
      host.setBehaviour("rcpt", ({ behind }) => {
        if (drops === DROPS || behind < 3) return null;
        drops += 1;
        return action;
      });
      const { told } = await scenario.job(mixed(60, "d", `${how}.test`));
      host.setBehaviour("rcpt", null);
      assert.deepEqual(wrongly(told), []);
      assert.ok(drops >= 1, "it has dropped");
      assert.ok(host.account.connections > drops, "a new session after each");
    });

  it("always, wherever others are behind: no recipient is lost", async () => {
    const { told } = await scenario.job(mixed(24, "h", "hangup.test"));
    assert.deepEqual(wrongly(told), []);
  });

  it("always at one recipient: only that one stays unknown, and costs nothing", async () => {
    const addresses = mixed(20, "d", "plain.test");
    addresses.splice(10, 0, "drop@plain.test", "exists-behind@plain.test", "reset@plain.test");
    const { told } = await scenario.job(addresses);
    for (const address of ["drop@plain.test", "reset@plain.test"]) {
      const end = told.get(address) ?? assert.fail(address);
      assert.equal(brief(end), "unknown smtp_protocol_error their_server");
      assert.deepEqual([end.stage, end.rule, end.code], ["rcpt", "failure.closed", 0]);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });
});
