import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  brief,
  engineScenario,
  mixed,
  NOT_FOUND,
  numbered,
  VALID,
  wrongly,
} from "../../support/engine-scenario.ts";

/** The best mail exchanger does not serve; the next one does, and knows. */
const scenario = engineScenario({ bulk: true, settings: { VERIFY_DEADLINE_MS: "60000" } });

describe("a first MX that does not serve", () => {
  for (const [domain, why] of [
    ["failover.test", "refuses connections"],
    ["failover-address.test", "refuses on its first address"],
    ["failover-busy.test", "greets with 421"],
    ["failover-drop.test", "hangs up without a greeting"],
    ["failover-noaddress.test", "has no address"],
  ] as const)
    it(`${why}: the next one is asked, for existing and missing mailboxes`, async () => {
      const addresses = [`exists@${domain}`, `missing@${domain}`];
      assert.deepEqual(await scenario.askAll(addresses), [VALID, NOT_FOUND]);
    });

  it("never greets: the next one is asked once the first has hung up", async () => {
    const silent = scenario.host("mx.tarpit-connect.test");
    const asked = scenario.ask("exists@failover-silent.test");
    await scenario.sees("the silent one is dialled", () => silent.account.open === 1);
    silent.cut();
    assert.equal(brief(await asked), VALID);
    assert.equal(silent.account.commandCount, 0);
  });

  it("in a job: each row has its verdict from the second", async () => {
    const { told } = await scenario.job([
      ...mixed(24, "f", "failover.test"),
      ...mixed(12, "b", "failover-busy.test"),
    ]);
    assert.deepEqual(wrongly(told), []);
    assert.equal(scenario.host("mx.busy-connect.test").account.transactions, 0);
  });
});

describe("mail exchangers that are all dead", () => {
  it("condemn nobody, cost nothing, and hold up nobody else in the job", async () => {
    const dead = numbered(12, (i) => `exists-x${i}@dead.test`);
    const { told } = await scenario.job([...dead, ...mixed(12, "p", "plain.test")]);
    for (const address of dead) {
      const end = told.get(address) ?? assert.fail(address);
      assert.equal(brief(end), "unknown no_connect their_server");
      assert.deepEqual([end.stage, end.rule, end.code], ["connect", "failure.refused", 0]);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });
});
