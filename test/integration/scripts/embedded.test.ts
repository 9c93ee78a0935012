import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import postgres from "postgres";
import { createTestDatabase, testRedisUrl } from "../../support/embedded.ts";

test("each test database is new, and gone once dropped", async () => {
  const one = await createTestDatabase();
  const other = await createTestDatabase();
  assert.notEqual(one.url, other.url);
  const sql = postgres(one.url, { max: 1, onnotice: () => undefined });
  await sql`create table t (a int)`;
  const [row] = await sql`select current_setting('server_version_num')::int as version`;
  assert.ok(row?.version >= 140_000);
  await sql.end();
  await one.drop();
  await other.drop();
  const gone = postgres(one.url, { max: 1 });
  await assert.rejects(gone`select 1`.execute(), { code: "3D000" });
  await gone.end();
});

test("PostgreSQL listens on loopback only and asks for its password", async () => {
  const { url, drop } = await createTestDatabase();
  const sql = postgres(url, { max: 1 });
  const [row] =
    await sql`select current_setting('listen_addresses') as host, current_setting('unix_socket_directories') as sockets`;
  assert.deepEqual({ ...row }, { host: "127.0.0.1", sockets: "" });
  await sql.end();
  const wrong = new URL(url);
  wrong.password = "guess";
  const stranger = postgres(wrong.href, { max: 1 });
  await assert.rejects(stranger`select 1`.execute(), { code: "28P01" });
  await stranger.end();
  await drop();
});

test("Redis keeps test files apart, evicts volatile keys only and asks for its password", async () => {
  const [one, other] = await Promise.all([testRedisUrl(), testRedisUrl()]);
  const a = new Redis(one);
  const b = new Redis(other);
  await a.set("k", "1");
  assert.equal(await b.get("k"), null);
  assert.deepEqual(await a.config("GET", "maxmemory-policy"), ["maxmemory-policy", "volatile-lru"]);
  assert.deepEqual(await a.config("GET", "appendonly"), ["appendonly", "yes"]);
  const rewritten = "auto-aof-rewrite-min-size";
  assert.deepEqual(
    await a.config("GET", rewritten),
    [rewritten, String(2 ** 30)],
    "not for some minutes of tests",
  );
  a.disconnect();
  b.disconnect();
  const stranger = new Redis(one.replace(/:[^@/]*@/, ":guess@"), {
    lazyConnect: true,
    retryStrategy: () => null,
  });
  stranger.on("error", () => undefined);
  await assert.rejects(stranger.connect());
  stranger.disconnect();
});
