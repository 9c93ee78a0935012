import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";
import { say } from "../../support/mail-world/action.ts";

/**
 * A server that accepts the second attempt: of the same sender, from the same address, with the same HELO name. Rows
 * that it never accepts are given up after eight seconds: the duration of this file.
 */
const sources = ["127.0.2.1", "127.0.2.2", "127.0.2.3"];
const settings = {
  SMTP_SOURCE_ADDRESSES: sources.join(),
  SHAPING: JSON.stringify({ sites: { "plain.test": { ways: sources } } }),
};
const scenario = engineScenario({ bulk: true, settings });

describe("greylisting in a job", () => {
  it("is met again by the same sender and source address for each recipient, and all are let in", async () => {
    const host = scenario.host("mx.plain.test");
    const triplets = new Map<string, string[]>();
    host.setBehaviour("rcpt", ({ clientAddress, heloName, sender }, { local }) => {
      if (local.startsWith("q")) return null;
      const met = triplets.get(local) ?? [];
      triplets.set(local, [...met, `${sender} ${heloName} ${clientAddress}`]);
      return met.length > 0 ? null : say("450 4.2.0 Greylisted, please try again later");
    });
    const addresses = mixed(30, "g", "plain.test");
    const { told, job } = await scenario.job(addresses);
    assert.deepEqual(wrongly(told), []);
    assert.deepEqual([job.verdicts.valid, job.verdicts.invalid, job.verdicts.unknown], [20, 10, 0]);
    assert.equal(triplets.size, addresses.length);
    for (const [local, met] of triplets) {
      assert.equal(met.length, 2, local);
      assert.equal(met[0], met[1], local);
    }
    const from = new Set([...triplets.values()].map(([first = ""]) => first.split(" ").at(-1)));
    assert.deepEqual([...from].sort(), sources, "and yet all source addresses are used");
  });

  it("that never ends leaves rows unknown at no cost, and delays no other row's verdict", async () => {
    scenario.host("mx.plain.test").setBehaviour("rcpt", null);
    const { told } = await scenario.job(["greylisted@plain.test", ...mixed(6, "n", "plain.test")]);
    const end = told.get("greylisted@plain.test") ?? assert.fail();
    assert.equal(brief(end), "unknown greylisted their_server");
    assert.deepEqual([end.stage, end.code], ["rcpt", 450]);
    told.delete("greylisted@plain.test");
    assert.deepEqual(wrongly(told), []);
  });
});
