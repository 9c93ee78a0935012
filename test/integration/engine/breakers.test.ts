import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { type BreakerAuthority, createBreakerAuthority } from "../../../src/egress/breaker/authority.ts";
import { createBreakerStore } from "../../../src/egress/breaker/breaker-states.ts";
import type { TrialEnd } from "../../../src/egress/breaker/messages.ts";
import { breakerKey } from "../../../src/egress/breaker/scope.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { openGatedRedis, openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate, type TcpGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Processes with one egress, on real Redis and in real time; waits are short. */
const FIRST_MS = 50;
const SITE = "site.example";
const PATH = "192.0.2.1";
const KEY = breakerKey(SITE, PATH);

interface Process {
  authority: BreakerAuthority;
  gate: TcpGate;
  /** Changes that the process itself made. */
  changes: string[];
}

async function startProcess(t: TestContext, url: string, egressId: string): Promise<Process> {
  const gate = await createTcpGate(url);
  t.after(() => gate.close());
  const redis = await openGatedRedis(t, url, gate);
  const changes: string[] = [];
  const authority = createBreakerAuthority({
    clock: systemClock,
    log: silentLog,
    store: createBreakerStore(redis, egressId, silentLog),
    firstMs: FIRST_MS,
    random: () => 0,
    onChange: (state, { isLocal: mine }) => void (mine && changes.push(state)),
    onFreed: () => {},
  });
  authority.start();
  t.after(() => authority.close());
  await redis.subscriber.ping();
  return { authority, gate, changes };
}

async function startTwo(t: TestContext) {
  const url = await testRedisUrl();
  const egressId = randomUUID();
  const a = await startProcess(t, url, egressId);
  const b = await startProcess(t, url, egressId);
  const redis = await openRedis(t, url);
  const forget = async () => {
    const keys = await redis.commands.keys(`rcpt:breaker:{${egressId}}:*`);
    assert.equal(await redis.commands.del(...keys), 1);
  };
  return { a, b, forget };
}

function block({ authority }: Process): void {
  const block = {
    site: SITE,
    path: PATH,
    domain: SITE,
    provider: null,
    early: true,
    rule: "r",
    reply: "554 no",
  };
  for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) authority.onBlocked(block);
}

const isOpen = ({ authority }: Process) => authority.waitMs(SITE) !== null;

/** The token of the trial, once it is due. */
function trialOf({ authority }: Process): Promise<string> {
  return until("the trial is due", async () => (await authority.requestTrial(KEY)).token);
}

async function isRefused({ authority }: Process): Promise<boolean> {
  const { token, free } = await authority.requestTrial(KEY);
  return token === null && !free;
}

describe("the breakers of two processes of an egress", () => {
  const NO: TrialEnd = { kind: "blocked", domain: SITE, early: true, reply: "554 still no" };

  it("open, are tried and close together", async (t) => {
    const { a, b } = await startTwo(t);
    block(a);
    await until("the other one hears of it", () => isOpen(b));
    const token = await trialOf(b);
    assert.equal(await isRefused(a), true, "one trial at a time");
    b.authority.onTrialEnded(token, NO);
    await until("it is told", () => b.changes.includes("reopened"));
    const next = await trialOf(a);
    assert.equal(await isRefused(b), true);
    a.authority.onTrialEnded(next, { kind: "passed" });
    await until("the other one hears of it", () => !isOpen(b));
    assert.equal(isOpen(a), false);
    assert.deepEqual([a.changes, b.changes], [["opened", "closed"], ["reopened"]]);
  });

  it("are still one, with one trial, when Redis has lost them", async (t) => {
    const { a, b, forget } = await startTwo(t);
    block(a);
    await until("the other one hears of it", () => isOpen(b));
    await forget();
    const token = await trialOf(b);
    assert.equal(await isRefused(a), true);
    b.authority.onTrialEnded(token, { kind: "passed" });
    await until("the other one hears of it", () => !isOpen(a));
  });

  it("are each one's own while Redis is away, and one again when it is back", async (t) => {
    const { a, b } = await startTwo(t);
    for (const { gate } of [a, b]) gate.shut();
    block(a);
    block(b);
    for (const process of [a, b]) {
      assert.equal(isOpen(process), true);
      // Reported once Redis has been given up, which may take longer than the breaker's first opening.
      await until("it is told", () => process.changes.includes("opened"));
      process.authority.onTrialEnded(await trialOf(process), NO);
    }
    assert.deepEqual(
      [a.changes, b.changes],
      [
        ["opened", "reopened"],
        ["opened", "reopened"],
      ],
    );
    for (const { gate } of [a, b]) gate.open();
    // Each process receives the other's messages only once it is connected: then a change of one reaches the other.
    await until("the end of a trial is heard by the other", async () => {
      if (!isOpen(a)) block(a);
      const { token } = await a.authority.requestTrial(KEY);
      if (token !== null) a.authority.onTrialEnded(token, { kind: "passed" });
      return !isOpen(b);
    });
  });

  it("have their trial given back by one that ends", async (t) => {
    const { a, b } = await startTwo(t);
    block(a);
    await until("the other one hears of it", () => isOpen(b));
    await trialOf(a);
    assert.equal(await isRefused(b), true);
    await a.authority.close();
    await trialOf(b);
  });
});
