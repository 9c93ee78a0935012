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
const BEGINS = { begins: 2, givenUpMs: LONG_MS };

const pair = () => [createJoinClaims(redis.commands), createJoinClaims(redis.commands)] as const;

describe("a claim on a job's results", () => {
  it("is one process', until it is released", async () => {
    const [one, two] = pair();
    assert.equal(await two.isClaimed("job_1"), false);
    assert.equal(await one.claim("job_1", LONG_MS, BEGINS), true);
    assert.deepEqual(
      [await two.claim("job_1", LONG_MS, BEGINS), await two.isClaimed("job_1")],
      [false, true],
    );
    await one.release("job_1");
    assert.deepEqual(
      [await two.isClaimed("job_1"), await two.claim("job_1", LONG_MS, BEGINS)],
      [false, true],
    );
  });

  it("is not another's to renew, to release or to give up", async () => {
    const [one, two] = pair();
    await one.claim("job_2", LONG_MS, BEGINS);
    assert.equal(await two.renew("job_2", 1), false);
    await two.release("job_2");
    await two.giveUp("job_2", LONG_MS);
    assert.deepEqual([await one.renew("job_2", LONG_MS), await one.isClaimed("job_2")], [true, true]);
  });

  it("that was given up is nobody's to have, and keeps nobody waiting", async () => {
    const [one, two] = pair();
    await one.claim("job_3", LONG_MS, BEGINS);
    await one.giveUp("job_3", LONG_MS);
    for (const claims of [one, two])
      assert.deepEqual(
        [await claims.claim("job_3", LONG_MS, BEGINS), await claims.isClaimed("job_3")],
        [false, false],
      );
  });

  it("ends when nobody renews it", async () => {
    const [one, two] = pair();
    await one.claim("job_4", 20, BEGINS);
    await until("the claim has ended", async () => !(await two.isClaimed("job_4")));
    assert.deepEqual(
      [await one.renew("job_4", LONG_MS), await two.claim("job_4", LONG_MS, BEGINS)],
      [false, true],
    );
  });

  it("is nobody's to have where so many had it as may, and went without a word", async () => {
    const [one, two] = pair();
    for (const claims of [one, two]) {
      assert.equal(await claims.claim("job_5", 20, BEGINS), true);
      await until("the claim has ended", async () => !(await claims.isClaimed("job_5")));
    }
    assert.deepEqual(
      [await one.claim("job_5", LONG_MS, BEGINS), await one.isClaimed("job_5")],
      [false, false],
    );
    // Nor does it matter what one says who had it once.
    await one.release("job_5");
    assert.equal(await two.claim("job_5", LONG_MS, BEGINS), false);
  });

  it("is anybody's again however often it was released, and who went without a word is remembered beside", async () => {
    const [one, two] = pair();
    for (let round = 0; round < 3; round++) {
      assert.equal(await one.claim("job_6", LONG_MS, BEGINS), true);
      await one.release("job_6");
    }
    assert.equal(await two.claim("job_6", 20, BEGINS), true);
    await until("the claim has ended", async () => !(await two.isClaimed("job_6")));
    for (let round = 0; round < 3; round++) {
      assert.equal(await one.claim("job_6", LONG_MS, BEGINS), true);
      await one.release("job_6");
    }
    assert.equal(await two.claim("job_6", 20, BEGINS), true);
    await until("the claim has ended", async () => !(await two.isClaimed("job_6")));
    assert.equal(await one.claim("job_6", LONG_MS, BEGINS), false);
  });

  it("remembers no longer than it was told", async () => {
    const [one, two] = pair();
    const brief = { begins: 1, givenUpMs: 20 };
    assert.equal(await one.claim("job_7", 10, brief), true);
    await until("it is forgotten", () => two.claim("job_7", LONG_MS, brief));
  });
});
