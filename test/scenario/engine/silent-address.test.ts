import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { brief, engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { SilentListener } from "../../support/silent-listener.ts";

const SILENT = "127.0.0.4";
/** Each with a new domain. */
const ATTEMPTS = 5;
const scenario = engineScenario({ bulk: true, settings: { VERIFY_DEADLINE_MS: "60000" } });

type Families = { a: string[]; aaaa?: string[] };

/** A domain whose exchanger answers only at the last of its addresses. */
function place(domain: string, families: Families): void {
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
    const hasIpv6 = scenario.world.hosts().some(({ address }) => address === "::1");
    const v4: Families = { a: [SILENT, plain] };
    const v6: Families = hasIpv6 ? { a: [SILENT], aaaa: ["::1"] } : v4;
    for (const [family, addresses] of Object.entries({ v4, v6 })) {
      const tookMs: number[] = [];
      // A busy machine may take as long itself, but hardly each time.
      while (tookMs.length < ATTEMPTS && Math.min(...tookMs) >= LIMITS.smtp.connectTimeoutMs) {
        const domain = `slow${tookMs.length}-${family}.test`;
        place(domain, addresses);
        const startedMs = performance.now();
        assert.equal(brief(await scenario.ask(`exists@${domain}`)), VALID);
        assert.equal(brief(await scenario.ask(`missing@${domain}`)), NOT_FOUND);
        tookMs.push(performance.now() - startedMs);
      }
      assert.ok(Math.min(...tookMs) < LIMITS.smtp.connectTimeoutMs, `${family}: ${tookMs}`);
    }
  });

  it("in a job: each row has its verdict", async () => {
    place("slow-job.test", { a: [SILENT, scenario.host("mx.plain.test").address] });
    const { told } = await scenario.job(mixed(24, "s", "slow-job.test"));
    assert.deepEqual(wrongly(told), []);
  });
});
