import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";

/**
 * Answers that are not the name server's own, and absences without proof. Where only forged answers come, three
 * attempts of two seconds each pass: hence the duration of this file.
 */
const scenario = engineScenario({ bulk: true });
const CUT_OFF = "unknown dns_error our_network";

describe("DNS that lies", () => {
  it("with wrong ids and other questions before the truth: the truth counts, the trap is never dialled", async () => {
    const { told } = await scenario.job(mixed(12, "l", "spoofed.test"));
    assert.deepEqual(wrongly(told), []);
    assert.equal(scenario.host("mx.trap.test").account.connections, 0);
  });

  it("with nothing but forgeries: unknown at no cost; a neighbour in the same job is served", async () => {
    const { told } = await scenario.job(["exists@forged.test", "exists@plain.test", "missing@plain.test"]);
    assert.deepEqual([...told.values()].map(brief), [CUT_OFF, VALID, NOT_FOUND]);
    assert.equal(told.get("exists@forged.test")?.stage, "", "no mail server was asked");
    assert.equal(scenario.host("mx.trap.test").account.connections, 0);
  });

  it("that a name is absent, without proof, while it knows no provider either: no address is invalid", async () => {
    for (const domain of ["unproven.test", "proven-by-another.test"]) {
      const { told } = await scenario.job([`exists@${domain}`, `missing@${domain}`]);
      assert.deepEqual([...told.values()].map(brief), [CUT_OFF, CUT_OFF], domain);
    }
    assert.equal(brief(await scenario.ask("exists@nowhere.test")), "invalid domain_not_found recipient");
    await scenario.spent(1);
  });

  it("the same where the resolver knows the biggest providers: then there is no such name", async () => {
    scenario.world.dns.set("gmail.com", { mx: [[10, "mx.plain.test"]] });
    scenario.world.dns.set("unproven-2.test", { faults: { MX: "nxdomain_unproven" } });
    assert.equal(brief(await scenario.ask("exists@unproven-2.test")), "invalid domain_not_found recipient");
  });
});
