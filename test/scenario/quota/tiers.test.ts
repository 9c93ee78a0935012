import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { TIERS } from "../../../src/config/tiers.ts";
import { ContractResult } from "../../support/contract.ts";
import { EXPECTATIONS } from "../../support/mail-world/behaviours.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";

/** Below Pro+ nothing is probed, `valid` never appears, and what others paid for does not shine through. */
const UNPROBED = ["free", "starter", "pro"] as const;

let deployment: TestDeployment;
let api: TestApi;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi();
});
after(() => deployment.stop());

function connections(): number {
  return deployment.world.hosts().reduce((sum, host) => sum + host.account.connections, 0);
}

describe("tiers without probing", () => {
  it("connect to no mail server and never say valid, whatever the domain", async () => {
    deployment.world.resetCounters();
    const { liveKey } = await deployment.team("pro", { ratePerS: 1000, rateBurst: 1000 });
    const asked = EXPECTATIONS.filter((row) => row.needs === undefined && row.holds !== true);
    const answers = await Promise.all(asked.map(({ address }) => api.verify(liveKey, address)));
    for (const { status, body } of answers) {
      assert.equal(status, 200);
      v.assert(ContractResult, body);
      assert.notEqual(body.verdict, "valid");
      assert.deepEqual(
        [body.checks.smtp.status, body.checks.smtp.code, body.checks.smtp.ok],
        ["skipped", 0, false],
      );
    }
    assert.equal(connections(), 0);
  });

  for (const tier of UNPROBED) {
    it(`${tier}: what Pro+ learnt about an address is neither used nor shown as cached`, async () => {
      const paying = await deployment.team("pro_plus");
      const learnt = await api.verify(paying.liveKey, "exists@plain.test");
      assert.equal(learnt.body.verdict, "valid");
      assert.equal((await api.verify(paying.liveKey, "exists@plain.test")).body.cached, true);
      const { liveKey } = await deployment.team(tier);
      for (const address of ["exists@plain.test", "missing@plain.test", "full@plain.test"]) {
        await api.verify(paying.liveKey, address);
        const { body } = await api.verify(liveKey, address);
        assert.deepEqual(
          [body.verdict, body.reason, body.cached, body.checks.smtp.status],
          ["unknown", "smtp_not_in_tier", false, "skipped"],
          address,
        );
      }
    });
  }

  it("see format, MX, role and disposable all the same", async () => {
    const { liveKey } = await deployment.team("free");
    const reasons: string[] = [];
    for (const address of [
      "not an address",
      "x@nowhere.test",
      "x@nullmx.test",
      "info@plain.test",
      "x@mailinator.com",
    ]) {
      reasons.push((await api.verify(liveKey, address)).body.reason);
    }
    assert.deepEqual(reasons.slice(0, 4), ["invalid_format", "domain_not_found", "null_mx", "role_address"]);
  });
});

describe("tiers with probing", () => {
  for (const tier of ["pro_plus", "enterprise"] as const) {
    it(`${tier} can get the verdict valid`, async () => {
      const { liveKey } = await deployment.team(tier);
      assert.equal(
        (await api.verify(liveKey, `exists-${tier.replace("_", "-")}@plain.test`)).body.verdict,
        "valid",
      );
    });
  }
});

async function usedBy(key: string): Promise<number> {
  return (await api.send<{ used: number }>("GET", "/v1/usage", { key })).body.used;
}

describe("probe=false", () => {
  it("asks no mail server in any tier, costs 1, and neither shows nor changes what a probe learnt", async () => {
    const address = "exists-unasked@plain.test";
    const { liveKey } = await deployment.team("pro_plus");
    const before = await api.verify(liveKey, address);
    assert.equal(before.body.verdict, "valid");
    deployment.world.resetCounters();
    const used = await usedBy(liveKey);
    for (const refresh of ["", "&refresh=true"]) {
      const { status, body } = await api.verify(liveKey, address, `&probe=false${refresh}`);
      v.assert(ContractResult, body);
      assert.deepEqual(
        [status, body.verdict, body.reason, body.cached, body.checks.smtp.status, body.checks.smtp.code],
        [200, "unknown", "smtp_not_requested", false, "skipped", 0],
      );
    }
    assert.equal(await usedBy(liveKey), used + 2);
    assert.equal(connections(), 0);
    const after = await api.verify(liveKey, address);
    assert.deepEqual([after.body.verdict, after.body.cached], ["valid", true]);
    for (const tier of UNPROBED) {
      const { body } = await api.verify((await deployment.team(tier)).liveKey, address, "&probe=false");
      assert.equal(body.reason, "smtp_not_requested", tier);
    }
  });

  it("still says what needs no mail server, and is cached apart", async () => {
    const { liveKey } = await deployment.team("pro_plus");
    for (const cached of [false, true]) {
      const { body } = await api.verify(liveKey, "declined@nowhere.test", "&probe=false");
      assert.deepEqual([body.verdict, body.reason, body.cached], ["invalid", "domain_not_found", cached]);
    }
  });
});

describe("refresh", () => {
  it("is refused with 402 below Pro, on live and test keys alike", async () => {
    for (const tier of TIERS) {
      const { liveKey, testKey } = await deployment.team(tier);
      for (const key of [liveKey, testKey]) {
        const { status, body } = await api.verify(key, "valid@plain.test", "&refresh=true");
        const refused = tier === "free" || tier === "starter";
        assert.equal(status, refused ? 402 : 200, tier);
        if (refused) assert.equal(body.code, "unavailable_in_tier");
      }
    }
  });
});
