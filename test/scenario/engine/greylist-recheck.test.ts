import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Redis } from "ioredis";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** A greylisted request is answered at once, and the service rechecks by itself: the next request gets the answer. */
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;
let key: string;
const SOON_MS = 120_000;

before(async () => {
  deployment = await createDeployment();
  [one, two] = await Promise.all([deployment.startApi(), deployment.startApi()]);
  key = (await deployment.team("enterprise")).liveKey;
});
after(() => deployment.stop());

/** Whether Redis, which all processes read, has an answer. */
async function isShared(): Promise<boolean> {
  const redis = new Redis(deployment.redisUrl);
  try {
    const names = await redis.keys("rcpt:es:*");
    const parts = await Promise.all(names.map((name) => redis.get(name)));
    return parts.some((text) => text?.includes('"class":"accepted"'));
  } finally {
    redis.disconnect();
  }
}

const used = async () => {
  const { body } = await one.send<{ used: number }>("GET", "/v1/usage", { key });
  return body.used;
};

async function metric(name: string): Promise<number> {
  const line = (await one.metrics()).split("\n").find((row) => row.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("a server that greylists unknown senders", () => {
  it("is asked again by the same process, and the answer is in every cache, free of charge", async () => {
    const first = await one.verify(key, "greylisted-briefly@plain.test");
    assert.deepEqual([first.body.verdict, first.body.reason], ["unknown", "greylisted"]);
    const storedAt = Date.parse(first.body.verified_at);
    const retryMs = Date.parse(String(first.body.retry_at)) - storedAt;
    assert.ok(retryMs >= 5_000 && retryMs <= 60_000, `to be asked again after ${retryMs} ms`);
    const again = await one.verify(key, "greylisted-briefly@plain.test");
    // Unless the machine was so slow that it is already known.
    if (again.body.reason === "greylisted")
      assert.deepEqual({ ...again.body, cached: false }, first.body, "a cached body is constant");
    await until(
      "the recheck has ended",
      async () => {
        const settled = await metric('rcpt_rechecks_total{result="settled"}');
        // A machine that slept past the delay has looked anew by request.
        return settled + (await metric('rcpt_rechecks_total{result="superseded"}')) === 1;
      },
      SOON_MS,
    );
    await until("Redis has it", isShared, SOON_MS);
    const rcpts = () => deployment.world.host("mx.plain.test").account.accepted;
    const asked = rcpts();
    const later = await one.verify(key, "greylisted-briefly@plain.test");
    assert.deepEqual([later.body.verdict, later.body.cached, later.body.retry_at], ["valid", true, null]);
    assert.ok(Date.parse(later.body.verified_at) >= storedAt + retryMs);
    const { body: elsewhere } = await two.verify(key, "greylisted-briefly@plain.test");
    assert.deepEqual([elsewhere.reason, elsewhere.cached], ["accepted_mailbox", true]);
    assert.equal(rcpts(), asked, "no request has probed");
    assert.equal(await metric("rcpt_rechecks_pending"), 0);
    // The greylisted answer was free, and so was the recheck: what the cache answered is charged.
    const cached = again.body.reason === "greylisted" ? 2 : 3;
    await until("the units are counted", async () => (await used()) === cached, SOON_MS);
  });

  it("says when to retry, also where the caller does not wait, and in no other answer", async () => {
    const { body } = await one.verify(key, "greylisted@plain.test");
    assert.equal(body.reason, "greylisted");
    assert.ok(Date.parse(String(body.retry_at)) > Date.parse(body.verified_at));
    const found = await one.verify(key, "missing@plain.test");
    assert.equal(found.body.retry_at, null);
    assert.equal(await metric("rcpt_rechecks_pending"), 1);
  });
});
