import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createAuthBus } from "../../../src/features/auth/auth-bus.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createBlockingRedis, createRedis } from "../../../src/stores/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { openGatedRedis, openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

async function setUp(t: TestContext) {
  const url = await testRedisUrl();
  const gate = await createTcpGate(url);
  t.after(() => gate.close());
  const redis = await openGatedRedis(t, url, gate);
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
    // Only the timeout can end it: the gate keeps the connection.
    await assert.rejects(redis.ping(), /timed out/);
    assert.deepEqual(
      [redis.commands, redis.subscriber].map(({ options }) => options.commandTimeout),
      [LIMITS.redis.commandTimeoutMs, LIMITS.redis.commandTimeoutMs],
    );
  });

  it("wait longer than that for a blocking command: a busy process reads its answer late", async () => {
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
    // Otherwise other workers would take over its entries before it gives up waiting.
    assert.ok(blockMs + LIMITS.redis.blockingGraceMs < LIMITS.bulk.leaseMs);
  });

  it("start although Redis is down", async (t) => {
    const gate = await createTcpGate("redis://127.0.0.1:1");
    t.after(() => gate.close());
    gate.shut();
    const redis = await openGatedRedis(t, "redis://127.0.0.1:1", gate);
    await assert.rejects(redis.ping());
  });
});

/** A server that answers INFO with `info`, and everything else with OK. @returns its URL */
async function serveInfo(t: TestContext, info: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      for (const [, name = ""] of bytes.toString("latin1").matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g))
        socket.write(/^info$/i.test(name) ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a server that rcpt cannot use", () => {
  for (const [info, said] of [
    ["redis_mode:cluster\r\ncluster_enabled:1\r\n", /Redis Cluster.*without cluster mode/],
    ["redis_mode:sentinel\r\n", /Sentinel.*HAProxy/],
    ["valkey_version:8.1.1\r\nserver_mode:sentinel\r\n", /Sentinel.*HAProxy/],
  ] as const)
    it(`is named in the log: ${info.trim().split("\r\n").at(-1)}`, async (t) => {
      const lines: string[] = [];
      const log = createLog("error", {}, { write: (line) => void lines.push(line) });
      const redis = createRedis({ url: await serveInfo(t, info), name: "rcpt-test", log });
      t.after(() => redis.stop());
      await redis.start();
      await until("it is logged", () => lines.length > 0);
      assert.match(lines.join(""), said);
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
