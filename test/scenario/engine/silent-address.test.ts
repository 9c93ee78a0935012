import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { SilentListener } from "../../support/silent-listener.ts";

const SILENT = "127.0.0.4";
const scenario = engineScenario({ bulk: true, settings: { VERIFY_DEADLINE_MS: "60000" } });

/** A domain whose exchanger answers only at the last of its addresses. */
function place(domain: string, families: { a: string[]; aaaa?: string[] }): void {
  scenario.world.dns.set(`mx.${domain}`, families);
  scenario.world.dns.set(domain, { mx: [[10, `mx.${domain}`]] });
}

describe("an exchanger whose first address is silent", () => {
  let silent: SilentListener;
  before(async () => {
    silent = await SilentListener.open(SILENT, scenario.world.smtpPort);
  });
  after(() => silent.close());

  it("is asked at its next address, of either family, long before the first is given up", async () => {
    const plain = scenario.host("mx.plain.test").address;
    place("slow4.test", { a: [SILENT, plain] });
    const hasIpv6 = scenario.world.hosts().some(({ address }) => address === "::1");
    place("slow6.test", hasIpv6 ? { a: [SILENT], aaaa: ["::1"] } : { a: [SILENT, plain] });
    for (const domain of ["slow4.test", "slow6.test"]) {
      const startedMs = performance.now();
      assert.equal(brief(await scenario.ask(`exists@${domain}`)), VALID);
      assert.equal(brief(await scenario.ask(`missing@${domain}`)), NOT_FOUND);
      assert.ok(performance.now() - startedMs < LIMITS.smtp.connectTimeoutMs);
    }
  });

  it("in a job: each row has its verdict", async () => {
    place("slow-job.test", { a: [SILENT, scenario.host("mx.plain.test").address] });
    const { told } = await scenario.job(mixed(24, "s", "slow-job.test"));
    assert.deepEqual(wrongly(told), []);
  });
});
