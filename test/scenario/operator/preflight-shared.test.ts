import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Redis } from "ioredis";
import type { SelfCheckStatus } from "../../../src/app/checks/self-check.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * Our address is listed after a process has checked it, and long before it will check again. The next process that
 * checks announces it, and neither of them answers `invalid` from cached refusals of the time in between.
 */
const SOURCE = "127.0.0.81";
const ZONE = "dnsbl.test";
const SETTINGS = {
  SMTP_SOURCE_ADDRESSES: SOURCE,
  DNSBL_ZONES: ZONE,
  PREFLIGHT_EVERY_S: "3600",
  CHECK_THREADS: "2",
};
const GHOST = "missing-between@plain.test";

let deployment: TestDeployment;
let redis: Redis;
let first: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  deployment.world.dns.set(`2.0.0.127.${ZONE}`, { a: ["127.0.0.2"] });
  redis = new Redis(deployment.redisUrl);
  key = (await deployment.team("enterprise")).liveKey;
  first = await deployment.startApi(SETTINGS);
});
after(async () => {
  redis.disconnect();
  await deployment.stop();
});

async function trust(api: TestApi): Promise<boolean | undefined> {
  const { ways } = (await (await fetch(`${api.metricsUrl}/preflight`)).json()) as SelfCheckStatus;
  return ways[0]?.trusted;
}
const reasonBy = async (api: TestApi, address: string) => (await api.verify(key, address)).body.reason;

describe("processes of one egress", () => {
  it("tell each other that our address is listed, and doubt what was refused since the last good look", async () => {
    await until("the first has looked", async () => (await trust(first)) === true);
    assert.equal(await reasonBy(first, GHOST), "mailbox_not_found");
    deployment.world.dns.set(`81.0.0.127.${ZONE}`, { a: ["127.0.0.4"] });
    // As if the first had gone: the next one looks.
    const leads = await redis.keys("rcpt:house:*:lead");
    assert.equal(leads.length, 1);
    await redis.del(leads);
    const second = await deployment.startApi(SETTINGS);
    await until("the second has looked", async () => (await trust(second)) === false);
    await until("it asks again", async () => (await reasonBy(second, GHOST)) === "sender_blocked");
    await until("the first hears of it", async () => (await trust(first)) === false);
    await until("it doubts too", async () => (await reasonBy(first, GHOST)) === "sender_blocked");
  });

  it("know it when they start, though it is not for them to look", async () => {
    const third = await deployment.startApi(SETTINGS);
    await until("the third knows", async () => (await trust(third)) === false);
    let asked = 0;
    await until(
      "its threads do",
      async () => (await reasonBy(third, `missing-late${asked++}@plain.test`)) === "sender_blocked",
    );
    assert.equal((await redis.keys("rcpt:house:*:lead")).length, 1);
  });
});
