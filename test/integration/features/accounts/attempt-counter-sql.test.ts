import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAttemptCounters } from "../../../../src/features/accounts/attempt-counter-sql.ts";
import { createLocalCounters } from "../../../../src/features/accounts/attempt-counters.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { openRedis } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

/** The two kinds of counters, which must behave in the same way: in Redis, and in one process's memory. */
const KINDS = [
  [
    "in Redis",
    async (t: Parameters<typeof openRedis>[0]) => createAttemptCounters((await openRedis(t)).commands),
  ],
  ["of a process", async () => createLocalCounters(createFakeClock())],
] as const;

for (const [where, open] of KINDS) {
  describe(`counters ${where}`, () => {
    it("let through as many as their limit, of 100 at once", async (t) => {
      const counters = await open(t);
      const counts = [{ key: "a", limit: 7, windowMs: 60_000 }];
      const waits = await Promise.all(Array.from({ length: 100 }, () => counters.count(counts)));
      assert.equal(waits.filter((waitMs) => waitMs === 0).length, 7);
      assert.ok(waits.every((waitMs) => waitMs >= 0 && waitMs <= 60_000));
    });

    it("count in all or, when one is full, in none, and wait for the one that ends last", async (t) => {
      const counters = await open(t);
      const small = { key: "small", limit: 1, windowMs: 60_000 };
      const smaller = { key: "smaller", limit: 1, windowMs: 600_000 };
      const large = { key: "large", limit: 3, windowMs: 60_000 };
      assert.equal(await counters.count([small, large]), 0);
      assert.equal(await counters.count([smaller, large]), 0);
      for (let i = 0; i < 5; i++) assert.ok((await counters.count([small, large])) > 0);
      assert.ok((await counters.count([small, smaller, large])) > 60_000);
      assert.equal(await counters.count([large]), 0);
      assert.ok((await counters.count([large])) > 0);
    });

    it("begin anew when they are cleared, and keep marks", async (t) => {
      const counters = await open(t);
      const count = { key: "key", limit: 1, windowMs: 60_000 };
      assert.equal(await counters.count([count]), 0);
      assert.equal(await counters.isMarked("mark"), false);
      await counters.settle({ clear: ["key", "unknown"], mark: "mark", markMs: 60_000 });
      assert.equal(await counters.isMarked("mark"), true);
      assert.equal(await counters.count([count]), 0);
      assert.ok((await counters.count([count])) > 0);
    });
  });
}

describe("a counter in Redis", () => {
  it("expires when its time has passed, however many attempts came meanwhile", async (t) => {
    const { commands } = await openRedis(t);
    const counters = createAttemptCounters(commands);
    const count = [{ key: "short", limit: 1, windowMs: 300 }];
    assert.equal(await counters.count(count), 0);
    await until("it has ended", async () => (await counters.count(count)) === 0);
    const keys = await commands.keys("rcpt:attempts:*");
    for (const key of keys) assert.ok((await commands.pttl(key)) !== -1, `${key} would stay for ever`);
  });
});
