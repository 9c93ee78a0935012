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
    ["failover-too-many.test", "greets with 421, too many connections"],
    ["failover-ehlo.test", "answers EHLO with 421"],
    ["failover-mail.test", "answers MAIL with 451"],
    ["failover-mail-drop.test", "hangs up at MAIL"],
    ["failover-rcpt.test", "answers RCPT with 450"],
    ["failover-rcpt-drop.test", "hangs up at RCPT"],
    ["failover-fifth.test", "is dead, as three others are"],
    ["failover-drop.test", "hangs up without a greeting"],
    ["failover-noaddress.test", "has no address"],
  ] as const)
    it(`${why}: the next one is asked, for existing and missing mailboxes`, async () => {
      const addresses = [`exists@${domain}`, `missing@${domain}`];
      assert.deepEqual(await scenario.askAll(addresses), [VALID, NOT_FOUND]);
    });

  it("has too many connections, and there is no other: that is the answer at once, with a time to come again", async () => {
    for (const name of ["exists", "missing"]) {
      const startedMs = performance.now();
      const { verdict, reason, retry_at } = await scenario.send(`${name}@too-many.test`);
      assert.deepEqual([verdict, reason], ["unknown", "rate_limited_by_server"]);
      assert.ok(retry_at !== null && Date.parse(retry_at) > Date.now());
      // The deadline of this file is a minute, the patience of jobs ten seconds.
      assert.ok(performance.now() - startedMs < 8_000);
    }
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
  it("make no address invalid, cost nothing, and delay no other row of the job", async () => {
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
