import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { routeReportOf } from "../../../../src/egress/self-check/report.ts";
import { createSelfCheckShare } from "../../../../src/egress/self-check/self-check-reports.ts";
import type { SharedSelfCheck } from "../../../../src/egress/self-check/share.ts";
import { openRedis } from "../../../support/store.ts";

const LONG_MS = 3_600_000;
const LOOK: SharedSelfCheck = {
  v: 1,
  exchangers: [{ site: "google", host: "mx.example", addresses: ["192.0.2.1"] }],
  reports: [routeReportOf("direct", "192.0.2.9", 0, [])],
};

describe("self-check reports in Redis", () => {
  it("is read by processes with the same settings and egress, and by no others", async (t) => {
    const redis = await openRedis(t);
    const egress = randomUUID();
    const share = createSelfCheckShare(redis, egress, "settings");
    assert.equal(await share.read(), null);
    await share.publish(LOOK);
    assert.deepEqual(await createSelfCheckShare(redis, egress, "settings").read(), LOOK);
    assert.equal(await createSelfCheckShare(redis, egress, "others").read(), null);
    assert.equal(await createSelfCheckShare(redis, randomUUID(), "settings").read(), null);
    const [key = ""] = await redis.commands.keys(`rcpt:house:{${egress}}:*`);
    const ttlS = await redis.commands.ttl(key);
    assert.ok(ttlS > 0 && ttlS <= LIMITS.selfCheck.sharedS);
    for (const text of ["not json", "{}", '{"v":2,"reports":[],"exchangers":[]}']) {
      await redis.commands.set(key, text);
      assert.equal(await share.read(), null, text);
    }
  });

  it("is led by one process at a time, which renews that for as long as it runs", async (t) => {
    const redis = await openRedis(t);
    const egress = randomUUID();
    const [a, b] = [createSelfCheckShare(redis, egress, "s"), createSelfCheckShare(redis, egress, "s")];
    assert.equal(await a.acquireLead(LONG_MS), true);
    assert.equal(await b.acquireLead(LONG_MS), false);
    assert.equal(await a.acquireLead(2 * LONG_MS), true);
    const [key = ""] = await redis.commands.keys(`rcpt:house:{${egress}}:*:lead`);
    assert.ok((await redis.commands.pttl(key)) > LONG_MS);
    await redis.commands.del(key);
    assert.equal(await b.acquireLead(LONG_MS), true, "its time is over");
    assert.equal(await a.acquireLead(LONG_MS), false);
  });

  it("is asked for in vain while Redis is away", async (t) => {
    const redis = await openRedis(t);
    const share = createSelfCheckShare(redis, randomUUID(), "s");
    redis.stop();
    await assert.rejects(share.read());
    await assert.rejects(share.acquireLead(1));
    await assert.rejects(share.publish(LOOK));
  });
});
