import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createJoinClaims } from "../../../src/store/join-claims.ts";
import type { RedisClients } from "../../../src/store/redis.ts";
import { createClosing, openRedis } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const closing = createClosing();
let redis: RedisClients;

before(async () => {
  redis = await openRedis(closing);
});
after(closing.close);

const LONG_MS = 600_000;

const pair = () => [createJoinClaims(redis.commands), createJoinClaims(redis.commands)] as const;

describe("a claim on a job's results", () => {
  it("is one process', until it is released", async () => {
    const [one, two] = pair();
    assert.equal(await two.isClaimed("job_1"), false);
    assert.equal(await one.claim("job_1", LONG_MS), true);
    assert.deepEqual([await two.claim("job_1", LONG_MS), await two.isClaimed("job_1")], [false, true]);
    await one.release("job_1");
    assert.deepEqual([await two.isClaimed("job_1"), await two.claim("job_1", LONG_MS)], [false, true]);
  });

  it("is not another's to renew, to release or to give up", async () => {
    const [one, two] = pair();
    await one.claim("job_2", LONG_MS);
    assert.equal(await two.renew("job_2", 1), false);
    await two.release("job_2");
    await two.giveUp("job_2", LONG_MS);
    assert.deepEqual([await one.renew("job_2", LONG_MS), await one.isClaimed("job_2")], [true, true]);
  });

  it("that was given up is nobody's to have, and keeps nobody waiting", async () => {
    const [one, two] = pair();
    await one.claim("job_3", LONG_MS);
    await one.giveUp("job_3", LONG_MS);
    for (const claims of [one, two])
      assert.deepEqual(
        [await claims.claim("job_3", LONG_MS), await claims.isClaimed("job_3")],
        [false, false],
      );
  });

  it("ends when nobody renews it", async () => {
    const [one, two] = pair();
    await one.claim("job_4", 20);
    await until("the claim has ended", async () => !(await two.isClaimed("job_4")));
    assert.deepEqual([await one.renew("job_4", LONG_MS), await two.claim("job_4", LONG_MS)], [false, true]);
  });
});
