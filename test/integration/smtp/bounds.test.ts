import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalSlots } from "../../support/local-slots.ts";
import { createPoolFixture, summary } from "./fixture.ts";
import { createScriptedServer } from "./scripted-server.ts";

/** One that never answers about `hold@…`. @param greets so many connections; absent: all */
async function createHoldingServer(greets = Number.POSITIVE_INFINITY) {
  let holding = false;
  const server = await createScriptedServer((line, { connection }) => {
    if (line === "" && connection > greets) return null;
    if (line.includes("<hold")) holding = true;
    return line.includes("<hold") ? null : undefined;
  });
  return { server, isHolding: () => holding };
}

describe("the bounds of the pool", () => {
  it("refuses private addresses before any connection, and no-host addresses always", async () => {
    const server = await createScriptedServer();
    const strict = createPoolFixture(server.port, { probePrivateAddresses: false });
    for (const address of ["127.0.0.1", "10.0.0.1", "::1", "0.0.0.0"])
      assert.equal(summary(await strict.rcpt("a@x.test", { address })), "connect private_address");
    const lax = createPoolFixture(server.port);
    assert.equal(summary(await lax.rcpt("a@x.test", { address: "0.0.0.0" })), "connect private_address");
    assert.equal(server.connections.length, 0);
    await strict.end();
    await lax.end();
    await server.close();
  });

  it("turns a waiter away when too many wait for one host", async () => {
    const server = await createScriptedServer(() => null);
    const fixture = createPoolFixture(server.port);
    const jobs = Array.from({ length: LIMITS.smtp.waitersPerHost }, () => fixture.rcpt("a@x.test"));
    assert.equal(summary(await fixture.rcpt("over@x.test")), "connect no_slot");
    fixture.pool.close();
    assert.equal((await Promise.all(jobs)).length, LIMITS.smtp.waitersPerHost);
    await fixture.end();
    await server.close();
  });

  it("does not dial, nor write, for a cancelled job", async () => {
    const server = await createScriptedServer();
    const fixture = createPoolFixture(server.port);
    assert.equal(summary(await fixture.rcpt("a@x.test", { cancelled: () => true })), "connect cancelled");
    assert.equal(server.connections.length, 0);
    await fixture.rcpt("b@x.test");
    assert.equal(summary(await fixture.rcpt("c@x.test", { cancelled: () => true })), "mail cancelled");
    assert.ok(!server.connections[0]?.some((line) => line.includes("c@x.test")));
    await fixture.end();
    await server.close();
  });

  it("answers by the deadline, in flight, waiting for a session, and waiting for a slot", async () => {
    const { server, isHolding } = await createHoldingServer();
    const fixture = createPoolFixture(server.port);
    const inFlight = fixture.rcpt("hold@x.test", { deadlineMs: 1_000 });
    await server.until(isHolding);
    const waiting = fixture.rcpt("a@x.test", { deadlineMs: 1_000 });
    const withoutSlot = fixture.rcpt("b@x.test", { host: "other.test", deadlineMs: 1_000 });
    await fixture.clock.advanceAsync(1_000 + LIMITS.smtp.sweepMs);
    assert.equal(summary(await inFlight), "rcpt timeout");
    assert.equal(summary(await waiting), "connect no_slot");
    assert.equal(summary(await withoutSlot), "connect no_slot");
    fixture.pool.close();
    await fixture.clock.advanceAsync(LIMITS.smtp.slotWaitMs);
    await fixture.end();
    await server.close();
  });

  it("blames the server's silence only where no session works: beside one, a job waited for our own cap", async () => {
    const { server, isHolding } = await createHoldingServer(1);
    const fixture = createPoolFixture(server.port);
    const rcpt = (address: string, host: string, deadlineMs: number) =>
      fixture.rcpt(address, { host, deadlineMs, maxConnections: 3 });
    const working = rcpt("hold@x.test", "mx.test", 3_600_000);
    await server.until(isHolding);
    const beside = rcpt("a@x.test", "mx.test", 1_000);
    await server.until(() => server.connections.length === 2);
    const alone = rcpt("b@x.test", "silent.test", 1_000);
    await server.until(() => server.connections.length === 3);
    await fixture.clock.advanceAsync(1_000 + LIMITS.smtp.sweepMs);
    assert.equal(summary(await beside), "connect no_slot");
    assert.equal(summary(await alone), "greeting timeout");
    fixture.pool.close();
    assert.equal(summary(await working), "connect cancelled");
    await fixture.end();
    await server.close();
  });

  it("hands an idle session's slot to another host of the site at once", async () => {
    const server = await createScriptedServer();
    const fixture = createPoolFixture(server.port);
    assert.equal(summary(await fixture.rcpt("a@x.test", { host: "one.test" })), "rcpt 250");
    assert.equal(summary(await fixture.rcpt("b@x.test", { host: "two.test" })), "rcpt 250");
    assert.equal(server.connections[0]?.at(-1), "QUIT");
    await fixture.end();
    await server.close();
  });

  it("never lets a cap of two starve a third pool, however busy the first two are", async () => {
    const server = await createScriptedServer();
    const clock = createFakeClock();
    const slots = createLocalSlots(clock);
    const pools = [1, 2, 3].map(() => createPoolFixture(server.port, { clock, slots }));
    const [first, second, third] = pools;
    let busy = true;
    const keepBusy = async (pool: typeof first) => {
      while (busy) await pool?.rcpt("a@x.test", { maxConnections: 2 });
    };
    const lanes = [first, first, second, second].map(keepBusy);
    await server.until(() => server.connections.length >= 2);
    await clock.advanceAsync(LIMITS.smtp.slotTenureMs);
    const outcome = await third?.rcpt("c@x.test", { maxConnections: 2 });
    assert.equal(outcome && summary(outcome), "rcpt 250");
    busy = false;
    // A session that waits for its slot gets it once another one idles too long.
    let through = false;
    const all = Promise.all(lanes).then(() => {
      through = true;
    });
    while (!through) await clock.advanceAsync(LIMITS.smtp.sweepMs);
    await all;
    for (const { pool } of pools) await pool.drain();
    for (const { pool } of pools) pool.close();
    assert.deepEqual([slots.stats().held, clock.pending], [0, 0]);
    await server.close();
  });

  it("does not dial for patient rows that were cancelled before their slot came", async () => {
    const server = await createScriptedServer();
    const fixture = createPoolFixture(server.port);
    await fixture.rcpt("a@x.test", { host: "other.test" });
    await fixture.clock.advanceAsync(LIMITS.smtp.sweepMs);
    await fixture.rcpt("b@x.test");
    let cancelled = false;
    const patient = { host: "other.test", deadlineMs: Number.POSITIVE_INFINITY, cancelled: () => cancelled };
    const waiting = fixture.rcpt("c@x.test", patient);
    cancelled = true;
    assert.equal(summary(await waiting), "connect cancelled");
    assert.equal(server.connections.length, 2);
    await fixture.end();
    await server.close();
  });

  it("drains: patient rows without a waiter do not delay it", async () => {
    const { server, isHolding } = await createHoldingServer();
    const fixture = createPoolFixture(server.port);
    let cancelled = false;
    const patient = { deadlineMs: Number.POSITIVE_INFINITY, cancelled: () => cancelled };
    const holding = fixture.rcpt("hold@x.test");
    await server.until(isHolding);
    const waiting = fixture.rcpt("a@x.test", patient);
    await fixture.clock.advanceAsync(LIMITS.smtp.sweepMs);
    cancelled = true;
    void fixture.pool.drain();
    await fixture.clock.advanceAsync(LIMITS.smtp.sweepMs);
    assert.equal(fixture.pool.stats().jobs, 1);
    assert.equal(summary(await waiting), "connect cancelled");
    fixture.pool.close();
    await holding;
    await fixture.end();
    await server.close();
  });

  it("drains: ends what is under way, refuses what is new", async () => {
    const server = await createScriptedServer();
    const fixture = createPoolFixture(server.port);
    const jobs = Array.from({ length: 20 }, (_, i) => fixture.rcpt(`u${i}@x.test`));
    const drained = fixture.pool.drain();
    assert.equal(summary(await fixture.rcpt("late@x.test")), "connect cancelled");
    assert.deepEqual(new Set((await Promise.all(jobs)).map(summary)), new Set(["rcpt 250"]));
    while (fixture.pool.stats().sessions > 0) await fixture.clock.advanceAsync(LIMITS.smtp.sweepMs);
    await drained;
    assert.equal(server.connections[0]?.at(-1), "QUIT");
    await fixture.end();
    await server.close();
  });
});
