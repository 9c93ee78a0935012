import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createBreakerStore } from "../../../../src/egress/breaker/breaker-states.ts";
import type { BreakerScope } from "../../../../src/egress/breaker/scope.ts";
import type { LocalBreakerState, OpenBreakerState } from "../../../../src/egress/breaker/store.ts";
import { testRedisUrl } from "../../../support/embedded.ts";
import { openRedis, silentLog } from "../../../support/store.ts";

const WAY: BreakerScope = { site: "some-site.example", path: "192.0.2.1", domain: "", provider: null };
const LATER: LocalBreakerState = { level: 0, openForMs: 0, dueInMs: 3_600_000 };
const DUE: LocalBreakerState = { level: 2, openForMs: 5_000, dueInMs: 0 };

async function setUp(t: TestContext, count: number) {
  const url = await testRedisUrl();
  const egressId = randomUUID();
  const start = async () => {
    const redis = await openRedis(t, url);
    const store = createBreakerStore(redis, egressId, silentLog);
    const received: [BreakerScope, OpenBreakerState | null][] = [];
    store.listen((way, state) => received.push([way, state]));
    await redis.subscriber.ping();
    const said = async () => {
      await redis.subscriber.ping();
      return received.splice(0);
    };
    return { store, redis, said };
  };
  const processes = [];
  for (let i = 0; i < count; i++) processes.push(await start());
  const [{ redis }] = processes as [Awaited<ReturnType<typeof start>>];
  const keys = () => redis.commands.keys(`rcpt:breaker:{${egressId}}:*`);
  type Process = Awaited<ReturnType<typeof start>>;
  return { processes: processes as [Process, Process], keys, channel: `rcpt:breaker:${egressId}` };
}

describe("open breakers in Redis", () => {
  it("are opened once, announced to the others, and found by a process that starts later", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes;
    assert.equal(await a.store.read(WAY), null);
    assert.equal((await a.store.open(WAY, LATER)).first, true);
    const second = await b.store.open(WAY, { ...LATER, dueInMs: 1_000 });
    assert.equal(second.first, false);
    assert.ok(second.state.dueInMs > 3_000_000, "the first one's time goes");
    const [[way, state] = [null, null], ...more] = await b.said();
    assert.deepEqual([way, more], [WAY, []]);
    assert.deepEqual([state?.level, state?.trial], [0, false]);
    assert.deepEqual(await a.said(), [], "nobody hears himself");
    const found = await b.store.read(WAY);
    assert.ok(found !== null && found.openForMs >= 0 && found.dueInMs <= 3_600_000);
    assert.equal(await b.store.read({ ...WAY, path: "192.0.2.2" }), null);
  });

  it("grant their trial to one, and not before it is due", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes;
    await a.store.open(WAY, LATER);
    assert.equal((await a.store.takeTrial(WAY, "1", LATER)).granted, false);
    const other = { ...WAY, domain: "customer.example" };
    await a.store.open(other, DUE);
    const taken = await Promise.all([a.store.takeTrial(other, "1", DUE), b.store.takeTrial(other, "2", DUE)]);
    assert.deepEqual(taken.map(({ granted }) => granted).sort(), [false, true]);
    assert.ok(taken.every(({ state }) => state.trial && state.level === 2));
  });

  it("react only to the end of the current trial, and to any accepted probe", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes;
    await a.store.open(WAY, DUE);
    await a.store.takeTrial(WAY, "a", DUE);
    await b.store.settleTrial(WAY, "b", { kind: "open", ...LATER });
    await b.store.settleTrial(WAY, "b", { kind: "returned" });
    assert.equal((await b.store.takeTrial(WAY, "b", DUE)).granted, false);
    await a.store.settleTrial(WAY, "a", { kind: "returned" });
    assert.equal((await b.store.takeTrial(WAY, "b", DUE)).granted, true);
    await b.said();
    await a.store.settleTrial(WAY, "a", { kind: "closed" });
    assert.deepEqual(await b.said(), [[WAY, null]]);
    assert.equal(await b.store.read(WAY), null);
  });

  it("stay open for as long as the trial's end says, and remember since when", async (t) => {
    const { processes } = await setUp(t, 2);
    const [a, b] = processes;
    await a.store.open(WAY, DUE);
    await a.store.takeTrial(WAY, "a", DUE);
    await a.store.settleTrial(WAY, "a", { kind: "open", level: 3, openForMs: 0, dueInMs: 7_200_000 });
    const state = await b.store.read(WAY);
    assert.deepEqual([state?.level, state?.trial], [3, false]);
    assert.ok(state !== null && state.openForMs >= DUE.openForMs && state.dueInMs > 7_000_000);
  });

  it("are restored by the next process that asks when Redis has lost them, still with one trial", async (t) => {
    const { processes, keys } = await setUp(t, 2);
    const [a, b] = processes;
    await a.store.open(WAY, LATER);
    await a.redis.commands.del(...(await keys()));
    assert.equal((await a.store.takeTrial(WAY, "a", DUE)).granted, true);
    assert.equal((await b.store.takeTrial(WAY, "b", DUE)).granted, false);
    assert.equal((await b.store.read(WAY))?.level, DUE.level);
  });

  it("expire when no row needs them, and name no customer's domain", async (t) => {
    const { processes, keys } = await setUp(t, 1);
    const [a] = processes;
    await a.store.open(WAY, LATER);
    const [key = "", ...others] = await keys();
    assert.deepEqual(others, []);
    assert.ok(!key.includes("some-site"));
    const ttlMs = await a.redis.commands.pttl(key);
    assert.ok(ttlMs > LATER.dueInMs && ttlMs <= LATER.dueInMs + LIMITS.breaker.forgetMs, `${ttlMs}`);
    await a.store.settleTrial(WAY, "", { kind: "closed" });
    assert.deepEqual(await keys(), []);
  });

  it("ignore malformed messages", async (t) => {
    const { processes, channel } = await setUp(t, 2);
    const [a, b] = processes;
    const forged = { from: "x", way: WAY };
    for (const message of [
      "",
      "{",
      "null",
      JSON.stringify({ ...forged, way: { site: 1 }, state: null }),
      JSON.stringify({ ...forged, state: [1, 2, 3] }),
      JSON.stringify({ ...forged, state: ["a", 0, 0, 0] }),
    ])
      await a.redis.commands.publish(channel, message);
    await a.store.open(WAY, LATER);
    assert.equal((await b.said()).length, 1);
  });
});
