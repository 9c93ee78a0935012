import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSlotLeases } from "../../../src/egress/slot-lease-store.ts";
import type { SlotLeases, SlotStatement } from "../../../src/egress/slot-leases.ts";
import type { RedisClients } from "../../../src/stores/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { slotsKey } from "../../support/slot-keys.ts";
import { openRedis, silentLog } from "../../support/store.ts";

interface Process {
  leases: SlotLeases;
  redis: RedisClients;
  /** Messages of the other processes, in order. */
  heard: string[];
  /** Sends the state of one site. @returns the granted slots */
  say(statement: Partial<SlotStatement>): Promise<number>;
}

const CAP = 2;

async function setUp(t: TestContext, count: number) {
  const url = await testRedisUrl();
  const egressId = randomUUID();
  const key = slotsKey(egressId, "site");
  const start = async (): Promise<Process> => {
    const redis = await openRedis(t, url);
    const leases = createSlotLeases(redis, egressId, silentLog);
    const heard: string[] = [];
    leases.listen({
      onWanted: (site, holds) => heard.push(`wanted ${site} ${holds}`),
      onFreed: (site) => heard.push(`freed ${site}`),
    });
    await redis.subscriber.ping();
    const base = { site: "site", held: 0, want: 0, max: CAP, waiting: false, announce: false };
    return {
      leases,
      redis,
      heard,
      async say(statement) {
        const [answer] = await leases.report([{ ...base, ...statement }]);
        return answer?.granted ?? Number.NaN;
      },
    };
  };
  const processes: Process[] = [];
  for (let i = 0; i < count; i++) processes.push(await start());
  return { processes, key, channel: `rcpt:slots:${egressId}` };
}

/** Messages that a process has received: the answer to a ping comes after them. */
async function heardBy({ redis, heard }: Process): Promise<string[]> {
  await redis.subscriber.ping();
  return heard.splice(0);
}

const WAITS = { want: 1, waiting: true, announce: true };

describe("slot leases in Redis", () => {
  it("grant what is left, take each statement for the truth, and leave nothing behind", async (t) => {
    const { processes, key } = await setUp(t, 2);
    const [a, b] = processes as [Process, Process];
    assert.equal(await a.say({ want: 5 }), 2);
    assert.equal(await b.say({ want: 1 }), 0);
    assert.equal(await a.say({ held: 1 }), 0);
    assert.equal(await b.say({ want: 2 }), 1);
    const ttlMs = await a.redis.commands.pttl(key);
    assert.ok(ttlMs > 0 && ttlMs <= LIMITS.slots.leaseTtlMs, `${ttlMs}`);
    await a.say({});
    await b.say({});
    assert.equal(await a.redis.commands.exists(key), 0);
  });

  it("answer for several sites in one call, in order, each by its own cap", async (t) => {
    const { processes } = await setUp(t, 1);
    const [{ leases }] = processes as [Process];
    const statement = { held: 0, want: 9, waiting: false, announce: false };
    const answers = await leases.report([
      { ...statement, site: "a", max: 3 },
      { ...statement, site: "b}{ \u00e9", max: 1 },
      { ...statement, site: "a", held: 1, max: 3 },
    ]);
    assert.deepEqual(
      answers.map(({ granted }) => granted),
      [3, 1, 2],
    );
    assert.deepEqual(await leases.report([]), []);
  });

  it("serve waiters in order, and no process past them", async (t) => {
    const { processes } = await setUp(t, 4);
    const [holder, first, second, passer] = processes as [Process, Process, Process, Process];
    assert.equal(await holder.say({ want: 2 }), 2);
    assert.equal(await first.say(WAITS), 0);
    assert.equal(await second.say(WAITS), 0);
    await holder.say({ held: 1 });
    assert.equal(await passer.say({ want: 1 }), 0, "does not wait");
    assert.equal(await second.say(WAITS), 0, "came later");
    assert.equal(await first.say(WAITS), 1);
    await holder.say({ held: 0 });
    assert.equal(await passer.say(WAITS), 0);
    assert.equal(await second.say(WAITS), 1);
  });

  it("are granted one at a time while other processes wait, which are then served first", async (t) => {
    const { processes } = await setUp(t, 3);
    const [holder, greedy, modest] = processes as [Process, Process, Process];
    await holder.say({ want: 2 });
    await greedy.say({ ...WAITS, want: 2 });
    await modest.say(WAITS);
    await holder.say({});
    assert.equal(await greedy.say({ ...WAITS, want: 2 }), 1);
    assert.equal(await greedy.say({ ...WAITS, held: 1 }), 0);
    assert.equal(await modest.say(WAITS), 1);
  });

  it("announce waiters to holders, and free slots to waiters; no process gets its own message", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes as [Process, Process];
    await a.say({ want: 2 });
    await b.say({ want: 1 });
    await b.say({ ...WAITS, announce: false });
    assert.deepEqual(await heardBy(a), [], "who does not announce is not heard");
    await b.say(WAITS);
    assert.deepEqual(await heardBy(a), ["wanted site 0"]);
    await a.say({ held: 2 });
    assert.deepEqual(await heardBy(b), [], "renewed, not freed");
    await a.say({ held: 1 });
    assert.deepEqual([await heardBy(b), await heardBy(a)], [["freed site"], []]);
  });

  it("forget a waiter that died", async (t) => {
    const { processes, key } = await setUp(t, 3);
    const [holder, gone, waiting] = processes as [Process, Process, Process];
    await holder.say({ want: 2 });
    await gone.say(WAITS);
    const [mark = ""] = (await holder.redis.commands.hkeys(key)).filter((field) => field.startsWith("w"));
    await waiting.say(WAITS);
    await holder.say({ held: 1 });
    assert.equal(await waiting.say(WAITS), 0);
    const [since] = (await holder.redis.commands.hget(key, mark))?.split(":") ?? [];
    await holder.redis.commands.hset(key, mark, `${since}:1`);
    assert.equal(await waiting.say(WAITS), 1);
  });

  it("tell each process its part of what is too much", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes as [Process, Process];
    const excess = async ({ leases }: Process, held: number) =>
      (await leases.report([{ site: "site", held, want: 0, max: 4, waiting: false, announce: false }]))[0]
        ?.excess;
    assert.equal(await excess(a, 4), 0);
    assert.equal(await excess(b, 4), 2);
    assert.equal(await excess(a, 4), 2);
    assert.equal(await excess(a, 2), 1);
    assert.equal(await excess(b, 2), 0);
  });

  it("overhear nonsense on the channel", async (t) => {
    const { processes, channel } = await setUp(t, 1);
    const [a] = processes as [Process];
    for (const message of [
      "",
      "null",
      "[]",
      '{"kind":"wanted"}',
      '{"kind":"off","site":"s","from":"x","holds":1}',
    ])
      await a.redis.commands.publish(channel, message);
    await a.redis.commands.publish(channel, '{"kind":"wanted","site":"s","from":"x","holds":1}');
    assert.deepEqual(await heardBy(a), ["wanted s 1"]);
  });
});
