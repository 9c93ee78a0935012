import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** SPF, DMARC, block lists and parking: their effect, the same in every tier, and without delaying an answer. */
let deployment: TestDeployment;
let api: TestApi;
let probing: string;
let plain: string;

before(async () => {
  deployment = await createDeployment();
  // One thread has one cache, so a signal that was looked up once is known to every later check.
  api = await deployment.startApi({ DOMAIN_BLOCKLIST_ZONES: "dbl.test", CHECK_THREADS: "1" });
  probing = (await deployment.team("pro_plus")).liveKey;
  plain = (await deployment.team("pro")).liveKey;
});
after(() => deployment.stop());

const CASES: [address: string, signals: string[]][] = [
  ["exists@plain.test", []],
  ["exists@unsigned.test", ["no_spf", "no_dmarc"]],
  ["exists@texts-servfail.test", []],
  ["exists@listed.test", ["listed_domain"]],
  ["exists@parked.test", ["domain_cannot_receive"]],
  ["exists@implicit.test", ["implicit_mx"]],
  ["exists@nowhere.test", ["domain_cannot_receive"]],
];

/**
 * The signals as a tier without probing shows them, whose answers are not cached. Asks until the name servers' answers
 * are in the cache: on a machine that stalls for half a second they may come too late.
 */
function settled(address: string, signals: string[]): Promise<boolean> {
  return until(`${address}: ${signals.join()}`, async () => {
    const { status, body } = await api.verify(plain, address);
    assert.equal(status, 200);
    return isDeepStrictEqual(body.checks.reputation.signals, signals);
  });
}

describe("signals of the domain", () => {
  for (const [address, signals] of CASES) {
    it(`${address}: ${signals.join(", ") || "none"}, with probing and without`, async () => {
      await settled(address, signals);
      const { body } = await api.verify(probing, address);
      assert.deepEqual(body.checks.reputation.signals, signals);
    });
  }

  it("a domain whose only exchanger is a throw-away service's is disposable, and no server is asked", async () => {
    for (const key of [probing, plain]) {
      const { body } = await api.verify(key, "jane@throw-away.test");
      assert.deepEqual([body.verdict, body.reason], ["risky", "disposable_domain"]);
      assert.equal(body.checks.disposable.source, "shared-mx");
      assert.equal(body.checks.smtp.status, "skipped");
    }
  });

  it("silent name servers hold the answer up for no longer than the bound, and are no signal", async () => {
    const { dns } = deployment.world;
    const { body } = await api.verify(plain, "exists@texts-silent.test");
    assert.deepEqual(body.checks.reputation.signals, []);
    assert.equal(body.reason, "smtp_not_in_tier");
    assert.ok(dns.count("texts-silent.test", "TXT") >= 1);
    assert.ok(LIMITS.check.domainSignalsMs < LIMITS.dns.attemptTimeoutMs);
  });

  it("a domain is looked up once for all its addresses", async () => {
    const { dns } = deployment.world;
    await settled("exists@unsigned.test", ["no_spf", "no_dmarc"]);
    const asked = dns.count("unsigned.test", "TXT");
    assert.ok(asked >= 1);
    await Promise.all(["a", "b", "c", "d"].map((local) => api.verify(probing, `${local}@unsigned.test`)));
    assert.equal(dns.count("unsigned.test", "TXT"), asked);
  });
});

describe("with DOMAIN_SIGNALS=none", () => {
  it("no TXT record is looked up", async () => {
    const quiet = await deployment.startApi({ DOMAIN_SIGNALS: "none" });
    deployment.world.resetCounters();
    const { body } = await quiet.verify(plain, "stranger@unsigned.test");
    assert.deepEqual(body.checks.reputation.signals, []);
    assert.equal(deployment.world.dns.count("unsigned.test", "TXT"), 0);
  });
});
