import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";

/** Servers that do not offer PIPELINING, or not even EHLO: each command waits for the answer to the one before. */
const scenario = engineScenario({ bulk: true });

describe("without PIPELINING", () => {
  for (const domain of ["lockstep.test", "helo-only.test"])
    it(`${domain}: one command at a time, many rows a session, all true`, async () => {
      const { told } = await scenario.job(mixed(60, "p", domain));
      assert.deepEqual(wrongly(told), []);
      const { maxBurst, outOfTurn, connections, maxTransactionsPerSession } = scenario.host(
        `mx.${domain}`,
      ).account;
      assert.deepEqual([maxBurst, outOfTurn], [1, 0]);
      assert.ok(connections < 60 && maxTransactionsPerSession > 1, `${connections} connections`);
    });

  it("where it is offered, the same list goes out several transactions a write, with the same verdicts", async () => {
    const { told } = await scenario.job(mixed(200, "p", "plain.test"));
    assert.deepEqual(wrongly(told), []);
    assert.ok(scenario.host("mx.plain.test").account.maxBurst > 3);
  });

  it("unsolicited replies are not taken for the next command's", async () => {
    const end = await scenario.ask("missing@out-of-step.test");
    assert.deepEqual(
      [end.verdict, end.reason, end.fault],
      ["unknown", "smtp_protocol_error", "their_server"],
    );
    assert.deepEqual(await scenario.askAll(["exists@lockstep.test", "missing@lockstep.test"]), [
      VALID,
      NOT_FOUND,
    ]);
  });
});
