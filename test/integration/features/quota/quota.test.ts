import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { UnitReservation } from "../../../../src/features/quota/quota.ts";
import { createQuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createPostgres } from "../../../../src/stores/postgres/postgres.ts";
import fc from "../../../support/properties.ts";
import { actorFor, newTeam, useDatabase } from "../../../support/store.ts";
import { createTcpGate, throughGate } from "../../../support/tcp-gate.ts";
import { granted, type Process, reserve, startQuotaProcess } from "./quota-process.ts";

const { sql, url: databaseUrl } = await useDatabase();

const startProcess = (ticking = true, db = sql) => startQuotaProcess(db, ticking);

async function used(teamId: string): Promise<number> {
  return (await createQuotaLedger(sql).usage(teamId)).used;
}

/** As if every lease of the team had run out of time. Locks the day first, as a release does: neither waits for the other's leases. */
async function expireLeases(teamId: string): Promise<void> {
  await sql`
    with days as materialized (select day from quota_days where team_id = ${teamId} order by day for update)
    update quota_leases set expires_at = clock_timestamp() - interval '1 second'
    where team_id = ${teamId} and day in (select day from days)`;
}

async function leases(teamId: string): Promise<{ granted: number; spent: number }[]> {
  const rows = await sql<{ granted: number; spent: number }[]>`
    select granted, spent from quota_leases where team_id = ${teamId}`;
  return [...rows];
}

/** Moves the clocks a flush at a time until `condition` holds; the database answers in no time of theirs. */
async function until(processes: Process[], condition: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < 200; step++) {
    if (await condition()) return;
    for (const process of processes) await process.clock.advanceAsync(LIMITS.quota.flushEveryMs);
    for (const process of processes) await process.settled();
  }
  assert.fail("did not come about");
}

describe("quota over processes", () => {
  it("gives out the last units to all who wait for them in a few statements, not in one for each", async () => {
    const { teamId } = await newTeam(sql);
    const actor = actorFor(teamId, { dailyQuota: 1_000 });
    const [a, b] = [startProcess(false), startProcess(false)];
    const outcomes = await Promise.all(
      Array.from({ length: 1_200 }, (_, i) => reserve(i % 2 === 0 ? a : b, actor)),
    );
    assert.equal(granted(outcomes).length, 1_000);
    assert.ok(a.calls() + b.calls() <= 20, `${a.calls()} and ${b.calls()} statements`);
    await Promise.all([a.quota.drain(), b.quota.drain()]);
    assert.equal(await used(teamId), 1_000);
  });

  it("gives out every unit of the day and not one more, and says when there will be more", async () => {
    const { teamId } = await newTeam(sql);
    const actor = actorFor(teamId, { dailyQuota: 300 });
    const processes = [startProcess(), startProcess(), startProcess()];
    let count = 0;
    for (let round = 0; round < 400; round++) {
      const outcomes = await Promise.all(processes.map((process) => reserve(process, actor)));
      for (const reservation of granted(outcomes)) reservation.commit();
      count += granted(outcomes).length;
      const refused = outcomes.find((outcome) => outcome instanceof AppError);
      if (refused) assert.ok((refused.retryAfterS ?? 0) >= 1 && (refused.retryAfterS ?? 0) <= 86_400);
      if (granted(outcomes).length === 0) {
        // Idle units of other processes are returned within two seconds.
        await until(processes, async () => (await leases(teamId)).length === 0);
      }
      if (count === 300) break;
    }
    assert.equal(count, 300);
    assert.equal((await reserve(processes[0] as Process, actor)) instanceof AppError, true);
    await Promise.all(processes.map((process) => process.quota.drain()));
    assert.equal(await used(teamId), 300);
  });

  it("never exceeds the limit, whichever processes are killed and whatever is given back", async () => {
    const steps = fc.array(
      fc.record({
        process: fc.nat(1),
        act: fc.oneof(
          { weight: 8, arbitrary: fc.constant("reserve" as const) },
          { weight: 3, arbitrary: fc.constant("giveBack" as const) },
          { weight: 3, arbitrary: fc.constant("tick" as const) },
          { weight: 1, arbitrary: fc.constant("kill" as const) },
          { weight: 1, arbitrary: fc.constant("expire" as const) },
        ),
        count: fc.integer({ min: 1, max: 60 }),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 200, max: 1_000 })),
        async (script, limit) => {
          const { teamId } = await newTeam(sql);
          const actor = actorFor(teamId, { dailyQuota: limit });
          const processes = [startProcess(), startProcess()];
          const killed: Process[] = [];
          const open: UnitReservation[][] = [[], []];
          let net = 0;
          for (const { process: index, act, count } of script) {
            const process = processes[index] as Process;
            const mine = open[index] as UnitReservation[];
            if (act === "reserve") {
              const outcomes = await Promise.all(
                Array.from({ length: count }, () => reserve(process, actor)),
              );
              mine.push(...granted(outcomes));
              net += granted(outcomes).length;
            } else if (act === "giveBack") {
              for (const reservation of mine.splice(0, count)) {
                reservation.giveBack();
                net -= 1;
              }
            } else if (act === "tick") {
              await process.clock.advanceAsync(count * 300);
            } else if (act === "kill") {
              // As by kill -9: nothing is flushed, and units in flight remain charged.
              killed.push(process);
              processes[index] = startProcess();
              open[index] = [];
            } else {
              await expireLeases(teamId);
            }
            assert.ok(net <= limit, `${net} units are out of ${limit}`);
          }
          await expireLeases(teamId);
          await createQuotaLedger(sql).reap();
          assert.ok((await used(teamId)) <= limit);
          assert.ok((await used(teamId)) >= net, "a unit that was taken is not counted");
          await Promise.all([...processes, ...killed].map((process) => process.quota.drain()));
          assert.ok((await used(teamId)) <= limit);
        },
      ),
      { numRuns: 25 },
    );
  });

  it("charges a killed process what it flushed and at most its tranche; the rest returns", async () => {
    const { teamId } = await newTeam(sql);
    const actor = actorFor(teamId, { dailyQuota: 1_000_000 });
    const doomed = startProcess();
    let taken = 0;
    // Enough for leases of some size.
    for (let i = 0; i < 60; i++) taken += granted([await reserve(doomed, actor)]).length;
    await until([doomed], async () => {
      const spent = (await leases(teamId)).reduce((sum, lease) => sum + lease.spent, 0);
      return (await used(teamId)) >= taken && spent >= 0;
    });
    taken += granted([await reserve(doomed, actor), await reserve(doomed, actor)]).length;
    const rows = await sql<{ granted: number; tranche: number }[]>`
      select granted, tranche from quota_leases where team_id = ${teamId}`;
    const tranches = rows.reduce((sum, row) => sum + row.tranche, 0);
    await expireLeases(teamId);
    await createQuotaLedger(sql).reap();
    const charged = await used(teamId);
    assert.ok(charged >= taken, `${charged} charged of ${taken} taken`);
    assert.ok(charged <= taken + tranches, `${charged} charged of ${taken} taken and ${tranches} uncertain`);
    assert.deepEqual(await leases(teamId), []);
    await doomed.quota.drain();
    assert.equal(await used(teamId), charged, "a lost lease is not settled twice");
  });

  it("takes nothing more from a lease the ledger has settled, once a flush has reported that", async () => {
    const { teamId } = await newTeam(sql);
    const actor = actorFor(teamId, { dailyQuota: 1_000 });
    const frozen = startProcess();
    assert.equal(granted([await reserve(frozen, actor)]).length, 1);
    await expireLeases(teamId);
    await createQuotaLedger(sql).reap();
    const charged = await used(teamId);
    // The process does not know yet that its lease is settled. Units that it may still use were charged with the lease.
    let late = 0;
    let next = frozen.quota.reserve(actor);
    for (; !(next instanceof Promise); next = frozen.quota.reserve(actor)) late += 1;
    await next;
    assert.ok(1 + late <= charged, `${1 + late} taken, ${charged} charged`);
    await frozen.quota.drain();
    assert.equal(await used(teamId), charged + 1, "what waited came of a new lease");
  });
});

describe("quota without Postgres", () => {
  it("spends what is leased, then answers 503 and not 429, and counts on when Postgres is back", async (t) => {
    const { teamId } = await newTeam(sql);
    const gate = await createTcpGate(databaseUrl);
    t.after(() => gate.close());
    const url = throughGate(databaseUrl, gate);
    const gated = createPostgres({ url, maxConnections: 2, applicationName: "rcpt-test" });
    t.after(() => gated.end({ timeout: 0 }));
    const process = startProcess(false, gated);
    const { clock, quota } = process;
    const actor = actorFor(teamId, { dailyQuota: 10_000 });
    assert.equal(granted([await reserve(process, actor)]).length, 1);
    gate.shut();
    let taken = 1;
    let last = await reserve(process, actor);
    for (; !(last instanceof AppError); last = await reserve(process, actor)) taken += 1;
    assert.ok(taken > 1);
    assert.equal(last.code, "unavailable");
    assert.throws(() => quota.reserve(actor), { code: "unavailable" }, "asked again at once");
    gate.open();
    await clock.advanceAsync(LIMITS.quota.failureMs);
    assert.equal(granted([await reserve(process, actor)]).length, 1);
    await quota.drain();
    assert.equal(await used(teamId), taken + 1);
  });
});

describe("quota in a process", () => {
  it("answers at once from a lease, without a promise", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const actor = actorFor(teamId, { dailyQuota: 10_000 });
    await reserve(process, actor);
    const second = process.quota.reserve(actor);
    assert.equal(second instanceof Promise, false);
    await process.quota.drain();
    assert.equal(await used(teamId), 2);
  });

  it("lets a unit that is given back be taken again, once", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const actor = actorFor(teamId, { dailyQuota: 1 });
    const [first] = granted([await reserve(process, actor)]);
    assert.ok((await reserve(process, actor)) instanceof AppError);
    first?.giveBack();
    first?.giveBack();
    first?.commit();
    const again = [await reserve(process, actor), await reserve(process, actor)];
    assert.equal(granted(again).length, 1);
    await process.quota.drain();
    assert.equal(await used(teamId), 1);
  });

  it("returns an idle lease within two seconds and keeps what is in flight", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const actor = actorFor(teamId, { dailyQuota: 10_000 });
    const [inFlight] = granted([await reserve(process, actor)]);
    assert.ok(((await leases(teamId))[0]?.granted ?? 0) > 1);
    const beganAt = process.clock.monotonic();
    await until([process], async () => (await leases(teamId))[0]?.granted === 1);
    assert.ok(process.clock.monotonic() - beganAt <= 2_000);
    inFlight?.giveBack();
    await until([process], async () => (await leases(teamId)).length === 0);
    assert.equal(await used(teamId), 0);
    await process.quota.drain();
  });

  it("keeps to a limit that is lowered during the day", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const high = actorFor(teamId, { dailyQuota: 10_000 });
    const low = actorFor(teamId, { dailyQuota: 3 });
    assert.equal(granted([await reserve(process, high), await reserve(process, high)]).length, 2);
    const before = await Promise.all(Array.from({ length: 20 }, () => reserve(process, low)));
    // Units leased under the old limit come back with the next tick.
    await process.clock.advanceAsync(LIMITS.quota.refusalMs + LIMITS.quota.flushEveryMs);
    await until([process], async () =>
      (await leases(teamId)).every((lease) => lease.granted === lease.spent),
    );
    const later = await Promise.all(Array.from({ length: 20 }, () => reserve(process, low)));
    assert.equal(2 + granted(before).length + granted(later).length, 3);
    await process.quota.drain();
    assert.equal(await used(teamId), 3);
  });

  it("asks the ledger once for many refused requests, and sees returned units within a second", async () => {
    const { teamId } = await newTeam(sql);
    const [a, b] = [startProcess(), startProcess()];
    const actor = actorFor(teamId, { dailyQuota: 1 });
    const [unit] = granted([await reserve(a, actor)]);
    assert.ok((await reserve(b, actor)) instanceof AppError);
    for (let i = 0; i < 100; i++) assert.throws(() => b.quota.reserve(actor), { code: "quota_exceeded" });
    unit?.giveBack();
    await a.quota.drain();
    await b.clock.advanceAsync(1_000);
    assert.equal(granted([await reserve(b, actor)]).length, 1);
    await b.quota.drain();
  });

  it("takes units of the new day after midnight and settles the old lease on its own day", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess(false);
    const actor = actorFor(teamId, { dailyQuota: 10_000 });
    const [unit] = granted([await reserve(process, actor)]);
    // The database's day ends: the lease now belongs to yesterday, and the process has reached its midnight.
    await sql`update quota_days set day = day - 1 where team_id = ${teamId}`;
    await sql`update quota_leases set day = day - 1 where team_id = ${teamId}`;
    await process.clock.advanceAsync(process.quota.snapshot(actor).resetS * 1_000);
    unit?.commit();
    assert.equal(granted([await reserve(process, actor)]).length, 1);
    await process.quota.drain();
    const days = await sql<{ used: number }[]>`
      select used from quota_days where team_id = ${teamId} order by day`;
    assert.deepEqual(
      days.map((day) => day.used),
      [1, 1],
    );
  });

  it("returns a lease that is in transit when the process stops", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const pending = reserve(process, actorFor(teamId, { dailyQuota: 10_000 }));
    await process.quota.drain();
    assert.ok((await pending) instanceof AppError);
    assert.deepEqual(await leases(teamId), []);
    assert.equal(await used(teamId), 0);
  });

  it("says how much is left of the day", async () => {
    const { teamId } = await newTeam(sql);
    const process = startProcess();
    const actor = actorFor(teamId, { dailyQuota: 50 });
    assert.equal(process.quota.snapshot(actor).remaining, 50);
    const units = granted(await Promise.all(Array.from({ length: 20 }, () => reserve(process, actor))));
    assert.equal(process.quota.snapshot(actor).remaining, 30);
    units[0]?.giveBack();
    assert.equal(process.quota.snapshot(actor).remaining, 31);
    await process.quota.drain();
    assert.equal((await process.quota.view(teamId)).used, 19);
    await assert.rejects(async () => process.quota.reserve(actor), { code: "unavailable" });
  });
});
