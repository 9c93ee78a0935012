import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createAuthBus } from "../../../src/features/auth/auth-bus.ts";
import { createBlockingRedis } from "../../../src/stores/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";

async function setUp(t: TestContext) {
  const url = await testRedisUrl();
  const gate = await createTcpGate(url);
  t.after(() => gate.close());
  const redis = await openRedis(t, throughGate(url, gate));
  return { gate, redis, url };
}

describe("Redis clients", () => {
  it("fail at once while Redis is down, queue nothing, and come back by themselves", async (t) => {
    const { gate, redis } = await setUp(t);
    const closed = once(redis.commands, "close");
    gate.shut();
    await closed;
    for (let i = 0; i < 20; i++) await assert.rejects(redis.commands.set("k", String(i)));
    const ready = once(redis.commands, "ready");
    gate.open();
    await ready;
    assert.equal(await redis.commands.get("k"), null, "nothing was kept for later");
    await redis.ping();
  });

  it("wait for a silent Redis for one command timeout and no longer", async (t) => {
    const { gate, redis } = await setUp(t);
    gate.stall();
    // Nothing else ends it: the gate keeps the connection.
    await assert.rejects(redis.ping(), /timed out/);
    assert.deepEqual(
      [redis.commands, redis.subscriber].map(({ options }) => options.commandTimeout),
      [LIMITS.redis.commandTimeoutMs, LIMITS.redis.commandTimeoutMs],
    );
  });

  it("wait longer than that for a command that blocks: a process that has much to do hears late of what it was given", async () => {
    const blockMs = 1_000;
    const reader = createBlockingRedis({
      url: await testRedisUrl(),
      name: "rcpt-test",
      blockMs,
      log: silentLog,
    });
    reader.disconnect();
    assert.equal(reader.options.commandTimeout, blockMs + LIMITS.redis.blockingGraceMs);
    assert.ok(LIMITS.redis.blockingGraceMs > LIMITS.redis.commandTimeoutMs);
    // Else others would take over what it was given before it gives up.
    assert.ok(blockMs + LIMITS.redis.blockingGraceMs < LIMITS.bulk.leaseMs);
  });

  it("start although Redis is down", async (t) => {
    const gate = await createTcpGate("redis://127.0.0.1:1");
    t.after(() => gate.close());
    gate.shut();
    const redis = await openRedis(t, `redis://127.0.0.1:${gate.port}`);
    await assert.rejects(redis.ping());
  });
});

describe("the bus", () => {
  it("delivers what was announced before it settles, and names each unbroken subscription anew", async (t) => {
    const { gate, redis, url } = await setUp(t);
    const bus = createAuthBus(redis, silentLog);
    const heard: string[] = [];
    bus.listen((change) => heard.push(change.subject));
    const session = async () => {
      while (bus.session === null) await new Promise((resolve) => setTimeout(resolve, 2));
      return bus.session;
    };
    const first = await session();
    const other = createAuthBus(await openRedis(t, url), silentLog);
    for (const subject of ["a", "b"]) await other.announce({ kind: "team", subject });
    await bus.settle();
    // Channels are common to all logical databases: others may speak too.
    assert.deepEqual(
      heard.filter((subject) => subject === "a" || subject === "b"),
      ["a", "b"],
    );
    const closed = once(redis.subscriber, "close");
    gate.shut();
    await closed;
    assert.equal(bus.session, null);
    gate.open();
    assert.notEqual(await session(), first);
    await other.announce({ kind: "team", subject: "c" });
    await bus.settle();
    assert.ok(heard.includes("c"));
  });
});
