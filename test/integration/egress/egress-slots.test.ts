import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createEgressSlots, type EgressSlots } from "../../../src/egress/egress-slots.ts";
import { createSiteCaps } from "../../../src/egress/site-caps.ts";
import { createSlotLeases } from "../../../src/egress/slot-lease-store.ts";
import type { SlotStatement } from "../../../src/egress/slot-leases.ts";
import type { RedisClients } from "../../../src/stores/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import fc from "../../support/properties.ts";
import { slotsKey } from "../../support/slot-keys.ts";
import { openGatedRedis, openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate, type TcpGate } from "../../support/tcp-gate.ts";

/** The slots of one process, with a clock and a connection to Redis of its own; Redis's time is real. */
interface Process {
  slots: EgressSlots;
  clock: FakeClock;
  gate: TcpGate;
  redis: RedisClients;
  /** Statements that it sent to Redis. */
  stated: SlotStatement[];
  /** Number of statements that Redis has answered, in order. */
  answered(): number;
  /** The next answer of Redis comes, and the process stands still until its time for it is over. */
  missNext(): void;
}

const SITE = "site";
/** In the time of a process, which passes far more quickly than ours. */
const PATIENT_MS = 1e9;

async function startProcess(t: TestContext, url: string, egressId: string): Promise<Process> {
  const gate = await createTcpGate(url);
  t.after(() => gate.close());
  const redis = await openGatedRedis(t, url, gate);
  const clock = createFakeClock();
  const stated: SlotStatement[] = [];
  let answered = 0;
  let misses = 0;
  const leases = createSlotLeases(redis, egressId, silentLog);
  const slots = createEgressSlots({
    leases: {
      async report(statements) {
        stated.push(...statements);
        const answers = await leases.report(statements);
        answered += statements.length;
        if (misses === 0) return answers;
        misses -= 1;
        await clock.advanceAsync(LIMITS.redis.commandTimeoutMs);
        throw new Error("Command timed out");
      },
      listen: (listener) => leases.listen(listener),
    },
    caps: createSiteCaps({ clock, onReduced: () => {} }),
    clock,
    log: silentLog,
  });
  slots.start();
  t.after(() => slots.close());
  // Behind the subscription on the same connection.
  await redis.subscriber.ping();
  const missNext = () => {
    misses += 1;
  };
  return { slots, clock, gate, redis, stated, answered: () => answered, missNext };
}

async function startProcesses(t: TestContext, count: number) {
  const url = await testRedisUrl();
  const egressId = randomUUID();
  const processes: Process[] = [];
  for (let i = 0; i < count; i++) processes.push(await startProcess(t, url, egressId));
  const redis = await openRedis(t, url);
  return { url, egressId, processes, redis, key: slotsKey(egressId, SITE) };
}

/** Lets the time of the processes pass until `condition` holds. */
async function pass(processes: Process[], what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `did not come about: ${what}`);
    await Promise.all(processes.map(({ clock }) => clock.advanceAsync(LIMITS.slots.intervalMs)));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Slots of the site in Redis, over all processes. */
async function leased(redis: RedisClients, key: string): Promise<number> {
  const fields = await redis.commands.hgetall(key);
  return Object.entries(fields)
    .filter(([field]) => field.startsWith("h"))
    .reduce((sum, [, value]) => sum + Number.parseInt(value, 10), 0);
}

/** Takes all of a cap, without waiting. */
async function fill({ slots }: Process, max: number): Promise<void> {
  for (let i = 0; i < max; i++) assert.equal(await slots.acquire(SITE, max, 0), true);
}

/** Ends a connection whenever the process is pressed. */
function yieldWhenPressed({ slots }: Process): void {
  slots.onWanted((site) => {
    if (slots.stats().held > 0) slots.release(site);
  });
}

describe("slots over processes", () => {
  it("never exceed the cap over all processes", async (t) => {
    const { processes } = await startProcesses(t, 3);
    const asked = Array.from({ length: 12 }, (_, i) => processes[i % 3]?.slots.acquire(SITE, 5, 0));
    assert.equal((await Promise.all(asked)).filter(Boolean).length, 5);
  });

  it("are no more than the cap where a process stood still and missed what it was granted", async (t) => {
    const { processes, redis, key } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    a.missNext();
    assert.equal(await a.slots.acquire(SITE, 1, 0), true);
    b.missNext();
    assert.equal(await b.slots.acquire(SITE, 1, 0), false, "it has not gone on alone");
    assert.equal(await leased(redis, key), 1, "what was missed is not held on top");
    await a.slots.close();
    assert.equal(await b.slots.acquire(SITE, 1, PATIENT_MS), true);
  });

  it("are not shared with another egress", async (t) => {
    const { url, processes } = await startProcesses(t, 1);
    const stranger = await startProcess(t, url, randomUUID());
    for (const process of [...processes, stranger]) await fill(process, 2);
  });

  it("cost one call a connection at most, and none while they are held", async (t) => {
    const { processes } = await startProcesses(t, 1);
    const [{ slots, stated }] = processes as [Process];
    for (let i = 0; i < 50; i++) {
      assert.equal(await slots.acquire(SITE, 2, 0), true);
      slots.release(SITE);
    }
    assert.equal(stated.length, 1);
  });

  it("are returned when unused for a while, and at once when the process stops", async (t) => {
    const { processes, redis, key } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    await fill(a, 2);
    a.slots.release(SITE);
    a.slots.release(SITE);
    assert.equal(await leased(redis, key), 2);
    await pass(
      [a],
      "the slots go back",
      () => a.stated.at(-1)?.held === 0 && a.answered() === a.stated.length,
    );
    await fill(b, 2);
    await b.slots.close();
    assert.equal(await redis.commands.exists(key), 0);
  });

  it("that are idle in another process are passed on as soon as a caller waits", async (t) => {
    const { processes } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    await fill(a, 2);
    a.slots.release(SITE);
    a.slots.release(SITE);
    assert.equal(await b.slots.acquire(SITE, 2, PATIENT_MS), true);
  });

  it("are passed by a holder to a process without any, before its own waiters", async (t) => {
    const { processes } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    await fill(a, 2);
    const atHome = a.slots.acquire(SITE, 2, PATIENT_MS);
    let pressed = 0;
    a.slots.onWanted(() => pressed++);
    const order: string[] = [];
    const away = b.slots.acquire(SITE, 2, PATIENT_MS).then(() => order.push("away"));
    await pass([], "the holder is pressed", () => pressed > 0);
    a.slots.release(SITE);
    await pass([], "the other process is served", () => order.length > 0);
    a.slots.release(SITE);
    void atHome.then(() => order.push("at home"));
    await Promise.all([away, atHome]);
    assert.deepEqual(order, ["away", "at home"]);
  });

  it("of a process that died are free once its lease has ended", async (t) => {
    const { processes, redis, key } = await startProcesses(t, 2);
    const [dead, b] = processes as [Process, Process];
    await fill(dead, 2);
    dead.gate.shut();
    const waiting = b.slots.acquire(SITE, 2, PATIENT_MS);
    await pass([b], "the live one asks again", () => b.stated.length > 3);
    assert.deepEqual(b.slots.stats(), { held: 0, waiting: 1 });
    const ttlMs = await redis.commands.pttl(key);
    assert.ok(ttlMs > 0 && ttlMs <= LIMITS.slots.leaseTtlMs, `${ttlMs}`);
    // As if the lease had been renewed last long ago.
    for (const field of await redis.commands.hkeys(key))
      if (field.startsWith("h")) await redis.commands.hset(key, field, "2:1");
    await pass([b], "the slots come back", () => b.slots.stats().held === 1);
    assert.equal(await waiting, true);
  });

  it("of a cap of 2 starve none of three processes that hold theirs until asked to return them", async (t) => {
    const { processes } = await startProcesses(t, 3);
    const turns = processes.map(() => 0);
    let most = 0;
    let over = false;
    for (const process of processes) yieldWhenPressed(process);
    const work = processes.map(async ({ slots }, i) => {
      while (!over) {
        if (!(await slots.acquire(SITE, 2, PATIENT_MS))) return;
        turns[i] = (turns[i] ?? 0) + 1;
        most = Math.max(
          most,
          processes.reduce((sum, one) => sum + one.slots.stats().held, 0),
        );
      }
    });
    await pass(processes, "everybody has had ten turns", () => turns.every((count) => count >= 10));
    over = true;
    await Promise.all(processes.map(({ slots }) => slots.close()));
    await Promise.all(work);
    assert.equal(most, 2);
  });
});

/** A connection that wants to be, in one of three processes. */
interface Job {
  process: number;
  patient: boolean;
  startMs: number;
  workMs: number;
}

describe("any schedule over three processes", () => {
  it("keeps the cap and serves every waiter", async (t) => {
    const job: fc.Arbitrary<Job> = fc.record({
      process: fc.nat(2),
      patient: fc.boolean(),
      startMs: fc.nat(3_000),
      workMs: fc.nat(1_500),
    });
    const { processes } = await startProcesses(t, 3);
    let run = 0;
    const schedule = async (jobs: Job[], cap: number) => {
      const site = `site ${run++}`;
      let held = 0;
      let most = 0;
      const served = jobs.map(async ({ process, patient, startMs, workMs }) => {
        const { slots, clock } = processes[process] as Process;
        await new Promise<void>((resolve) => clock.after(startMs, resolve));
        if (!(await slots.acquire(site, cap, patient ? PATIENT_MS : 0))) return !patient;
        most = Math.max(most, ++held);
        await new Promise<void>((resolve) => clock.after(workMs, resolve));
        held--;
        slots.release(site);
        return true;
      });
      let ended = false;
      const all = Promise.all(served).finally(() => {
        ended = true;
      });
      await pass(processes, "all jobs end", () => ended);
      assert.ok(most <= cap, `${most} of ${cap}`);
      assert.ok((await all).every(Boolean));
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(job, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        schedule,
      ),
      { numRuns: 15, endOnFailure: true },
    );
  });
});

describe("slots without Redis", () => {
  it("are kept, and a process without one takes one, until Redis is back", async (t) => {
    const { processes, redis, key } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    await fill(a, 2);
    for (const { gate } of processes) gate.shut();
    assert.equal(await b.slots.acquire(SITE, 2, PATIENT_MS), true, "one alone");
    assert.equal(await b.slots.acquire(SITE, 2, 0), false, "no second one");
    a.slots.release(SITE);
    assert.equal(await a.slots.acquire(SITE, 2, 0), true, "what is held goes on being used");
    await pass(processes, "both have noticed", () => processes.every(({ stated }) => stated.length >= 3));
    let pressed = 0;
    for (const { slots } of processes) slots.onWanted(() => pressed++);
    for (const { gate } of processes) gate.open();
    let known = 0;
    const look = async () => {
      known = await leased(redis, key);
    };
    await pass(processes, "three are on record", () => {
      void look();
      return known === 3 && pressed > 0;
    });
    for (const { slots } of processes) slots.release(SITE);
    await pass(processes, "what was too much went back", () => {
      void look();
      return known <= 2;
    });
  });

  it("are one a site for a process that starts while Redis is away", async (t) => {
    const { processes } = await startProcesses(t, 1);
    const [{ slots, gate }] = processes as [Process];
    gate.shut();
    assert.equal(await slots.acquire(SITE, 5, PATIENT_MS), true);
    assert.equal(await slots.acquire("other", 5, 0), true);
    const next = slots.acquire(SITE, 5, PATIENT_MS);
    assert.equal(await slots.acquire(SITE, 5, 0), false);
    slots.release(SITE);
    assert.equal(await next, true);
  });

  it("are on record again after Redis was emptied", async (t) => {
    const { processes, redis, key } = await startProcesses(t, 2);
    const [a, b] = processes as [Process, Process];
    await fill(a, 2);
    await redis.commands.flushdb();
    await redis.commands.script("FLUSH");
    const before = a.stated.length;
    // Waits for the answer, not for the sending: Redis has lost the script too, so the statement is sent twice.
    await pass([a], "the lease is renewed", () => a.answered() > before);
    assert.equal(await leased(redis, key), 2);
    assert.equal(await b.slots.acquire(SITE, 2, 0), false);
  });
});
