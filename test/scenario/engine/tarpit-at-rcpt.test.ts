import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, NOT_FOUND, numbered, VALID } from "../../support/engine-scenario.ts";
import { drip, SILENCE } from "../../support/mail-world/action.ts";

/** A server that answers about some mailboxes only long after our own answer to the caller. */
const scenario = engineScenario({ settings: { VERIFY_DEADLINE_MS: "1500" } });
const SLOW = "slow@plain.test";

describe("a tarpit at RCPT", () => {
  it("is answered at the deadline; what the server says in the end is in the cache", async () => {
    const host = scenario.host("mx.plain.test");
    host.setBehaviour("rcpt", (_, { local }) =>
      local === "slow" ? drip("550 5.1.1 User unknown") : local === "silent" ? SILENCE : null,
    );
    const asked = () => host.account.commands.filter(({ line }) => line.includes(SLOW)).length;
    const [first] = await Promise.all([
      scenario.ask(SLOW),
      scenario.sees("the slow mailbox is asked about", () => asked() === 1),
    ]);
    assert.deepEqual([brief(first), first.stage], ["unknown deadline ours", ""]);
    scenario.world.drip(100);
    const end = await scenario.askOn(SLOW);
    assert.equal(brief(end), NOT_FOUND);
    assert.deepEqual([end.stage, end.code], ["rcpt", 550]);
    assert.equal((await scenario.ask(SLOW)).cached, true);
    assert.equal(asked(), 1, "nobody was asked twice");
    await scenario.spent(2);
  });

  it("delays no other address, at the same host or at others; one without an answer is free", async () => {
    const addresses = [...numbered(8, (i) => `exists-n${i}@plain.test`), "exists@lockstep.test"];
    const [end, others, missing] = await Promise.all([
      scenario.ask("silent@plain.test"),
      Promise.all(addresses.map(scenario.askOn)),
      scenario.askOn("missing@plain.test"),
    ]);
    assert.equal(brief(end), "unknown deadline ours");
    for (const other of others) assert.equal(brief(other), VALID);
    assert.equal(brief(missing), NOT_FOUND);
    await scenario.spent(2 + addresses.length + 1);
  });
});
