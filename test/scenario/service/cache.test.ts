import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Redis } from "ioredis";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** Evidence is cached, shared and expired as documented. */
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  const settings = { CHECK_THREADS: "2" };
  [one, two] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  key = (await deployment.team("enterprise")).liveKey;
});
after(() => deployment.stop());
beforeEach(() => deployment.world.resetCounters());

const rcptsOf = (host: string) => {
  const { accepted, rejected } = deployment.world.host(host).account;
  return accepted + rejected;
};

describe("evidence cache", () => {
  it("answers the second request from memory, with the same body but for `cached`", async () => {
    const first = await one.verify(key, "exists1@plain.test");
    const second = await one.verify(key, "exists1@plain.test");
    assert.deepEqual([first.body.cached, second.body.cached], [false, true]);
    assert.deepEqual({ ...second.body, cached: false }, first.body);
    assert.equal(first.body.cache_ttl_seconds, 24 * 3600);
    assert.ok(Date.parse(String(first.body.cache_expires_at)) > Date.now());
  });

  it("shares what one process learnt with the others, through Redis", async () => {
    await one.verify(key, "missing1@plain.test");
    const before = rcptsOf("mx.plain.test");
    const { body } = await two.verify(key, "missing1@plain.test");
    assert.deepEqual([body.cached, body.reason], [true, "mailbox_not_found"]);
    assert.equal(rcptsOf("mx.plain.test"), before);
  });

  it("asks again on refresh, and keeps what it then learns", async () => {
    const first = await one.verify(key, "exists2@plain.test");
    const fresh = await one.verify(key, "exists2@plain.test", "&refresh=true");
    assert.equal(fresh.body.cached, false);
    assert.ok(Date.parse(fresh.body.verified_at) >= Date.parse(first.body.verified_at));
    const later = await one.verify(key, "exists2@plain.test");
    assert.deepEqual([later.body.cached, later.body.verified_at], [true, fresh.body.verified_at]);
  });

  it("keeps each end as long as the table says", async () => {
    const lifetimes: [string, number][] = [
      ["exists3@plain.test", 86_400],
      ["missing3@plain.test", 86_400],
      ["full@plain.test", 3_600],
      ["policy@plain.test", 3_600],
      ["exists@catchall.test", 12 * 3_600],
      ["exists@catchall-tempfail.test", 3_600],
      ["greylisted@plain.test", 600],
      ["tempfail@plain.test", 300],
      ["exists@dead.test", 300],
      ["exists@servfail.test", 300],
      ["exists@short-negative.test", 5],
      ["not an address", 0],
    ];
    for (const [address, seconds] of lifetimes) {
      const { body } = await one.verify(key, address);
      assert.equal(body.cache_ttl_seconds, seconds, address);
    }
  });

  it("holds no address in clear in Redis", async () => {
    await one.verify(key, "exists-secret@plain.test");
    const redis = new Redis(deployment.redisUrl);
    try {
      const keys = await redis.keys("*");
      assert.ok(keys.some((name) => name.startsWith("rcpt:ev:p:")));
      for (const name of keys) {
        assert.doesNotMatch(name, /@|exists/);
        const value = (await redis.type(name)) === "string" ? await redis.get(name) : "";
        assert.doesNotMatch(String(value), /exists-secret/);
      }
    } finally {
      redis.disconnect();
    }
  });
});

describe("single flight", () => {
  it("probes once for a hundred requests at the same time", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => one.verify(key, "exists4@lockstep.test")),
    );
    for (const { status, body } of answers) assert.deepEqual([status, body.verdict], [200, "valid"]);
    // The address itself and the random one of its domain.
    assert.equal(rcptsOf("mx.lockstep.test"), 2);
  });

  it("makes one catch-all probe per domain, however many addresses are verified", async () => {
    const asked = Array.from({ length: 40 }, (_, i) => one.verify(key, `exists${i}@one-recipient.test`));
    for (const { body } of await Promise.all(asked)) assert.equal(body.verdict, "valid");
    assert.equal(rcptsOf("mx.one-recipient.test"), 41);
  });
});

describe("deadline", () => {
  it("keeps what is known: exchangers, role, reputation", async () => {
    const hasty = await deployment.startApi({ VERIFY_DEADLINE_MS: "1000" });
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    // On a busy machine the first answer may come before the exchangers are known.
    const body = await until("the exchangers are known at the deadline", async () => {
      const answer = await hasty.verify(key, "info@lockstep.test");
      return answer.body.checks.mx.ok && answer.body;
    });
    host.release();
    assert.deepEqual([body.verdict, body.reason], ["unknown", "deadline"]);
    const { mx, role, disposable, reputation, smtp } = body.checks;
    assert.deepEqual([mx.ok, mx.hosts, mx.status], [true, ["mx.lockstep.test"], "ok"]);
    assert.deepEqual([role.is_role, role.role, disposable.status], [true, "info", "checked"]);
    assert.ok(reputation.signals.includes("role_address"));
    assert.equal(smtp.status, "skipped");
  });

  it("answers in time while the probe goes on and fills the cache", async () => {
    const hasty = await deployment.startApi({ VERIFY_DEADLINE_MS: "300" });
    const host = deployment.world.host("mx.multiline.test");
    host.hold("rcpt");
    const late = await hasty.verify(key, "exists5@multiline.test");
    assert.deepEqual([late.status, late.body.verdict, late.body.reason], [200, "unknown", "deadline"]);
    assert.equal(late.body.cache_ttl_seconds, 0);
    host.release();
    await deployment.world.until(() => host.account.accepted > 0 && host.account.held === 0);
    const { body } = await until("it is in the cache", async () => {
      const answer = await hasty.verify(key, "exists5@multiline.test");
      return answer.body.cached && answer;
    });
    assert.equal(body.verdict, "valid");
  });
});
