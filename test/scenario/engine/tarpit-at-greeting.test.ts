import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, VALID } from "../../support/engine-scenario.ts";

/** Servers that accept the connection and withhold their greeting, or send it byte by byte. */
const scenario = engineScenario({ settings: { VERIFY_DEADLINE_MS: "1500" } });

describe("a server that is silent at connect", () => {
  it("is answered at the deadline; others at the same address of ours are served meanwhile", async () => {
    const host = scenario.host("mx.tarpit-connect.test");
    const [end, other] = await Promise.all([
      scenario.ask("exists@tarpit-connect.test"),
      scenario.askOn("exists@plain.test"),
    ]);
    assert.equal(brief(end), "unknown deadline ours");
    assert.equal(brief(other), VALID);
    assert.deepEqual([host.account.transactions, host.account.commandCount], [0, 0]);
  });

  it("closing in the end, is reported as such, and nothing is said about the recipient", async () => {
    const host = scenario.host("mx.tarpit-connect.test");
    host.cut();
    const end = await scenario.askOn("exists@tarpit-connect.test");
    assert.equal(brief(end), "unknown smtp_protocol_error their_server");
    assert.deepEqual([end.stage, end.rule], ["greeting", "failure.closed"]);
    assert.equal(host.account.commandCount, 0);
  });
});

describe("a slow banner", () => {
  it("is waited for behind the answer: once it is whole, the mailbox is asked about", async () => {
    const host = scenario.host("mx.slow-banner.test");
    const first = await scenario.ask("exists@slow-banner.test");
    assert.equal(brief(first), "unknown deadline ours");
    assert.equal(host.account.commandCount, 0, "nobody talks before the greeting is whole");
    // For the catch-all probe too, if it uses another connection.
    const dripping = setInterval(() => scenario.world.drip(100), 50);
    const end = await scenario.askOn("exists@slow-banner.test");
    clearInterval(dripping);
    assert.equal(brief(end), VALID);
  });

  it("costs the unit of the answer that was one, no more", async () => {
    await scenario.spent(2);
  });
});
