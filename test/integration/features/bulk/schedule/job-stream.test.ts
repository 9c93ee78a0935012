import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import {
  createJobStreams,
  type JobStream,
  type JobStreams,
  pointerKey,
} from "../../../../../src/features/bulk/schedule/job-stream.ts";
import { createBlockingRedis, type RedisClient } from "../../../../../src/stores/redis.ts";
import { testRedisUrl } from "../../../../support/embedded.ts";
import { openRedis, silentLog } from "../../../../support/store.ts";

/** Pointers in a real Redis. Consumers are workers that live or die. */
let redis: RedisClient;
let reader: RedisClient;
let streams: JobStreams;
let stream: JobStream;

beforeEach(async (t) => {
  assert.ok("after" in t);
  const url = await testRedisUrl();
  redis = (await openRedis(t, url)).commands;
  reader = createBlockingRedis({ url, name: "rcpt-test", blockMs: PATIENT_MS, log: silentLog });
  t.after(() => reader.disconnect());
  await reader.connect();
  streams = createJobStreams(redis);
  stream = streams.tasks;
});

const PATIENT_MS = 60_000;
const TASKS = "rcpt:{bulk}:tasks";
const task = (number: number) => ({ jobId: "job_1", number });
const read = (consumer: string, count = 10) => stream.read(reader, consumer, count, 1);

/** The first look makes the group. */
async function started(numbers: number[]): Promise<void> {
  assert.deepEqual(await read("nobody"), []);
  await stream.add(numbers.map(task));
}

describe("the stream of tasks", () => {
  it("gives each task to one worker, and forgets it when it is done", async () => {
    await started([0, 1, 2]);
    const one = await read("one", 2);
    const two = await read("two");
    assert.deepEqual(
      [one, two].map((entries) => entries.map(({ pointer }) => pointer.number)),
      [[0, 1], [2]],
    );
    assert.equal((await stream.outstanding(2, 10))?.size, 3);
    await stream.finish([...one, ...two].map(({ id }) => id));
    assert.deepEqual(await stream.outstanding(2, 10), new Set());
    await stream.finish([]);
  });

  it("waits for the first task to come", async () => {
    await started([]);
    const waiting = stream.read(reader, "one", 1, PATIENT_MS);
    await stream.add([task(7)]);
    assert.deepEqual(
      (await waiting).map(({ pointer }) => pointer),
      [task(7)],
    );
  });

  it("lets others have what a worker gives no sign of life of, and not what it does", async () => {
    await started([0, 1]);
    const entries = await read("one");
    const [first, second] = entries.map(({ id }) => id);
    // As if an hour had passed.
    for (const id of [first ?? "", second ?? ""])
      await redis.xclaim(TASKS, "workers", "one", 0, id, "IDLE", 3_600_000, "JUSTID");
    assert.deepEqual(await stream.renew("one", [first ?? ""]), new Set([first]));
    const claimed = await stream.claim("two", 1_800_000, 10);
    assert.deepEqual(
      claimed.map(({ id }) => id),
      [second],
    );
    // A consumer that has lost an entry cannot regain it by renewing.
    assert.deepEqual(await stream.renew("one", [first ?? "", second ?? ""]), new Set([first]));
    assert.deepEqual(await stream.claim("three", 1_800_000, 10), []);
  });

  it("lets others have at once what a worker hands back", async () => {
    await started([0]);
    const [entry] = await read("one");
    await stream.handBack("one", entry?.id ?? "");
    assert.deepEqual(
      (await stream.claim("two", 60_000, 1)).map(({ pointer }) => pointer),
      [task(0)],
    );
  });

  it("hands back nothing that another has claimed", async () => {
    await started([0]);
    const [entry] = await read("slow");
    await stream.claim("heir", 0, 1);
    await stream.handBack("slow", entry?.id ?? "");
    assert.deepEqual(await stream.claim("third", 60_000, 1), []);
    assert.deepEqual(await stream.renew("heir", [entry?.id ?? ""]), new Set([entry?.id]));
  });

  it("finds an abandoned task behind many that are in hand", async () => {
    await started(Array.from({ length: 60 }, (_, i) => i));
    const entries = await read("one", 60);
    const last = entries.at(-1);
    await stream.handBack("one", last?.id ?? "");
    assert.deepEqual(await stream.claim("two", 60_000, 1), [last]);
  });

  it("is there again after Redis was emptied", async () => {
    await started([0]);
    const [entry] = await read("one");
    await redis.flushdb();
    assert.deepEqual(await stream.renew("one", [entry?.id ?? ""]), new Set());
    assert.deepEqual(await stream.claim("one", 0, 1), []);
    await redis.flushdb();
    assert.deepEqual(await read("one"), []);
    await stream.add([task(1)]);
    assert.deepEqual(
      (await read("one")).map(({ pointer }) => pointer),
      [task(1)],
    );
  });

  it("says that it does not know when there is more than it may read", async () => {
    await started([0, 1, 2, 3]);
    assert.equal(await stream.outstanding(1, 3), null);
    assert.deepEqual(
      await stream.outstanding(1, 5),
      new Set([0, 1, 2, 3].map((number) => pointerKey(task(number)))),
    );
  });

  it("passes over what is no pointer", async () => {
    await started([0]);
    await redis.xadd(TASKS, "*", "job", "job_2", "number", "x");
    await redis.xadd(TASKS, "*", "something", "else");
    assert.deepEqual(
      (await read("one")).map(({ pointer }) => pointer),
      [task(0)],
    );
  });

  it("forgets workers that disappeared long ago, if they have no pending entries", async () => {
    await started([0, 1]);
    await read("busy", 1);
    await stream.finish((await read("idle")).map(({ id }) => id));
    await stream.removeIdleConsumers(3_600_000);
    const names = async () =>
      ((await redis.xinfo("CONSUMERS", TASKS, "workers")) as string[][]).map(([, name]) => name).sort();
    assert.deepEqual(await names(), ["busy", "idle"]);
    await stream.removeIdleConsumers(0);
    assert.deepEqual(await names(), ["busy"]);
  });

  it("keeps the newest of the tasks that were given up", async () => {
    await streams.bury(task(3), 16);
    const [entry] = (await redis.xrange("rcpt:{bulk}:dead", "-", "+")) as [string, string[]][];
    assert.deepEqual(entry?.[1], ["job", "job_1", "number", "3", "deliveries", "16"]);
  });

  it("knows its workers by their signs of life, and those that said goodbye no more", async () => {
    const names = ["one", "two", "three"];
    for (const name of names) await stream.heartbeat(name);
    assert.equal(await stream.countConsumers(60_000), 3);
    await stream.removeConsumer("two");
    assert.equal(await stream.countConsumers(60_000), 2);
    // As if the third had been silent for long.
    await redis.zadd("rcpt:{bulk}:alive:tasks", 1, "three");
    assert.equal(await stream.countConsumers(60_000), 1);
    assert.ok((await redis.pttl("rcpt:{bulk}:alive:tasks")) > 0);
  });

  it("goes with its last worker when it is empty, and not before", async () => {
    const own = streams.retries("egress");
    const key = "rcpt:{bulk}:retry:egress";
    const take = () => own.read(reader, "one", 10, null);
    await own.heartbeat("one");
    await take();
    await own.add([task(0), task(1)]);
    const entries = await take();
    await own.finish([entries[0]?.id ?? ""]);
    await own.removeConsumer("one");
    assert.equal(await redis.xlen(key), 1);
    await own.finish([entries[1]?.id ?? ""]);
    await own.heartbeat("two");
    await own.removeConsumer("one");
    assert.equal(await redis.exists(key), 1);
    await own.removeConsumer("two");
    assert.equal(await redis.exists(key), 0);
    await own.removeConsumer("two");
  });

  it("of retries is one for each egress, whatever its name, in one slot with all others", async () => {
    const names = ["", "a", "b:c", "{x}", "tasks", "mail 1/ä"];
    for (const [number, name] of names.entries()) await streams.retries(name).add([task(number)]);
    for (const [number, name] of names.entries()) {
      const found = await streams.retries(name).outstanding(10, 1);
      assert.deepEqual(found, new Set([pointerKey(task(number))]));
    }
    const keys = await redis.keys("*");
    assert.equal(keys.length, names.length);
    assert.ok(
      keys.every((key) => /^rcpt:\{bulk\}:retry[^{}]*$/.test(key)),
      String(keys),
    );
    await streams.retries("a").drop();
    assert.equal((await redis.keys("*")).length, names.length - 1);
  });
});

describe("how much there is in a stream", () => {
  it("is nothing where there is none, and all of it before anybody reads", async () => {
    assert.deepEqual(await stream.load(), { lag: 0, pending: 0 });
    await stream.add([0, 1].map(task));
    assert.deepEqual(await stream.load(), { lag: 2, pending: 0 });
  });

  it("is what waits, and what is in hand, in whatever order it is done", async () => {
    await started([0, 1, 2, 3, 4]);
    assert.deepEqual(await stream.load(), { lag: 5, pending: 0 });
    const held = await read("one", 3);
    assert.deepEqual(await stream.load(), { lag: 2, pending: 3 });
    await stream.finish(held.slice(1, 2).map(({ id }) => id));
    assert.deepEqual(await stream.load(), { lag: 2, pending: 2 });
    await stream.handBack("one", held[0]?.id ?? "");
    assert.deepEqual(await stream.load(), { lag: 2, pending: 2 });
  });

  it("is known where Redis cannot tell, since an entry that waits was deleted", async () => {
    await started([0, 1, 2, 3]);
    await read("one", 1);
    const [, , third] = await redis.xrange(TASKS, "-", "+");
    await redis.xdel(TASKS, third?.[0] ?? "");
    const [group] = (await redis.xinfo("GROUPS", TASKS)) as unknown[][];
    assert.equal(group?.[group.indexOf("lag") + 1], null, "Redis tells by itself: this shows nothing");
    assert.deepEqual(await stream.load(), { lag: 2, pending: 1 });
  });

  it("has notes of what was given up beside it", async () => {
    assert.equal(await streams.buried(), 0);
    await streams.bury(task(3), 5);
    assert.equal(await streams.buried(), 1);
  });
});
