import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, numbered } from "../../support/engine-scenario.ts";

/** A server that accepts every recipient: its acceptance means nothing, which one catch-all probe shows. */
const scenario = engineScenario({ bulk: true });
const CATCH_ALL = "risky catch_all";

describe("a catch-all", () => {
  it("is detected by one probe for all rows of a job, and none of them is valid", async () => {
    const host = scenario.host("mx.catchall.test");
    const addresses = numbered(30, (i) => `exists-c${i}@catchall.test`);
    const { told } = await scenario.job(addresses);
    for (const end of told.values()) {
      assert.equal(brief(end), CATCH_ALL);
      assert.deepEqual([end.catchAll, end.stage], ["accepted", "rcpt"]);
    }
    const asked = host.account.commands.filter(({ line }) => line.startsWith("RCPT")).map(({ line }) => line);
    const probes = asked.filter((line) => !line.includes("<exists-c"));
    assert.equal(probes.length, 1, probes.join());
    assert.equal(asked.length, addresses.length + 1);
  });

  it("is a fact that single requests of another process use too, without asking again", async () => {
    const host = scenario.host("mx.catchall.test");
    host.resetCounters();
    const end = await scenario.ask("nobody-knows@catchall.test");
    assert.deepEqual([brief(end), end.catchAll], [CATCH_ALL, "accepted"]);
    const asked = host.account.commands.filter(({ line }) => line.startsWith("RCPT")).map(({ line }) => line);
    assert.deepEqual(asked, ["RCPT TO:<nobody-knows@catchall.test>"]);
    await scenario.spent(1);
  });
});
