import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, wrongly } from "../../support/engine-scenario.ts";

/** Name servers that fail, refuse, cut answers short or say nothing (three attempts of two seconds: the length of this file). */
const scenario = engineScenario({ bulk: true });
const THEIRS = "unknown dns_error their_server";
const FAILING = ["servfail", "refused", "notimp", "implicit-servfail"];

describe("DNS that fails", () => {
  it("decides no verdict: the address record is not taken for the exchanger, a job's other rows are served", async () => {
    const failing = FAILING.map((name) => `exists@${name}.test`);
    const { told } = await scenario.job([...failing, ...mixed(9, "f", "plain.test")]);
    for (const address of failing) {
      const end = told.get(address) ?? assert.fail(address);
      assert.deepEqual([brief(end), end.stage], [THEIRS, ""], address);
      told.delete(address);
    }
    assert.deepEqual(wrongly(told), []);
  });

  it("cut short over UDP: the whole comes by TCP, or it is an error", async () => {
    assert.equal(brief(await scenario.ask("missing@truncated.test")), NOT_FOUND);
    assert.ok(scenario.world.dns.totals.tcp > 0);
    const end = await scenario.ask("missing@truncated-for-good.test");
    assert.deepEqual([end.verdict, end.reason], ["unknown", "dns_error"]);
  });

  it("silent: an error once all attempts are over; silent at first: the answer of the next attempt", async () => {
    const { dns } = scenario.world;
    dns.set("late.test", { mx: [[10, "mx.plain.test"]], faults: { MX: "silent" } });
    const late = scenario.ask("missing@late.test");
    const silent = scenario.ask("missing@silent.test");
    await scenario.sees("the late one is asked", () => dns.count("late.test", "MX") > 0);
    dns.set("late.test", { mx: [[10, "mx.plain.test"]] });
    assert.equal(brief(await late), NOT_FOUND);
    const { verdict, reason } = await silent;
    assert.deepEqual([verdict, reason], ["unknown", "dns_error"]);
    assert.ok(dns.count("silent.test", "MX") >= 3);
  });

  it("at the exchanger's address: no connection, no address invalid", async () => {
    const { dns } = scenario.world;
    dns.set("mx.weak.test", { faults: { A: "servfail", AAAA: "servfail" } });
    dns.set("weak.test", { mx: [[10, "mx.weak.test"]] });
    assert.equal(brief(await scenario.ask("exists@weak.test")), "unknown no_connect their_server");
  });
});
