import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createLearnedBehaviourStore } from "../../../../src/engine/learned-behaviour/store.ts";
import { openRedis } from "../../../support/store.ts";

describe("learned behaviour in Redis", () => {
  it("are those of one egress, with their end, and go when they are over", async (t) => {
    const { commands } = await openRedis(t);
    const egress = randomUUID();
    const [one, two] = [
      createLearnedBehaviourStore(commands, egress),
      createLearnedBehaviourStore(commands, egress),
    ];
    const sinceMs = Date.now();
    const belief = { site: "a.test", habit: "refuses_all" as const, sinceMs, untilMs: sinceMs + 60_000 };
    await one.put(belief);
    await one.put({ ...belief, site: "over.test", untilMs: sinceMs - 1 });
    await one.put({ ...belief, site: "fell.test", habit: null, untilMs: sinceMs + 60_000 });
    const found = await two.load();
    assert.deepEqual(
      found.sort((a, b) => a.site.localeCompare(b.site)),
      [belief, { ...belief, site: "fell.test", habit: null }],
    );
    const key = `rcpt:beliefs:{${egress}}`;
    assert.deepEqual((await commands.hkeys(key)).sort(), ["a.test", "fell.test"]);
    const ttlMs = await commands.pttl(key);
    assert.ok(ttlMs > 0 && ttlMs <= 60_000, `${ttlMs}`);
    assert.deepEqual(await createLearnedBehaviourStore(commands, randomUUID()).load(), []);
  });

  it("are bounded: what finds no room is not shared, what is there is renewed", async (t) => {
    const { commands } = await openRedis(t);
    const egress = randomUUID();
    const store = createLearnedBehaviourStore(commands, egress);
    const sinceMs = Date.now();
    const belief = { habit: "accepts_all" as const, sinceMs, untilMs: sinceMs + 60_000 };
    const { behaviours } = LIMITS.learnedBehaviour;
    await Promise.all(
      Array.from({ length: behaviours + 5 }, (_, i) => store.put({ ...belief, site: `s${i}.test` })),
    );
    assert.equal((await store.load()).length, behaviours);
    await store.put({ ...belief, site: "s0.test", habit: null });
    assert.equal((await store.load()).find(({ site }) => site === "s0.test")?.habit, null);
  });

  it("are empty where the key has another type", async (t) => {
    const { commands } = await openRedis(t);
    const egress = randomUUID();
    await commands.hset(`rcpt:beliefs:{${egress}}`, { "a.test": "no JSON", "b.test": '{"habit":"x"}' });
    assert.deepEqual(await createLearnedBehaviourStore(commands, egress).load(), []);
  });
});
