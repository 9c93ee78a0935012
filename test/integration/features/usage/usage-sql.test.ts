import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  addUsage,
  createUsageStore,
  type UsageCounts,
  type UsageRow,
} from "../../../../src/features/usage/usage-sql.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();

const NONE: UsageCounts = { single: 0, bulk: 0, cached: 0, valid: 0, invalid: 0, risky: 0, unknown: 0 };
const DAY_MS = 86_400_000;
const dayAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
const today = () => dayAgo(0);

/** One valid answer. */
const one = (teamId: string, day = today()): UsageRow => ({ ...NONE, teamId, day, single: 1, valid: 1 });

describe("a flush of counters", () => {
  it("counts once however often it comes, one by one and all at once", async () => {
    const { teamId } = await newTeam(sql);
    const store = createUsageStore(sql);
    const writer = randomUUID();
    const flush = { writer, revision: 1, rows: [one(teamId)] };
    await Promise.all(Array.from({ length: 8 }, () => store.record(flush)));
    await store.record(flush);
    await store.record({ ...flush, revision: 2 });
    await store.record(flush);
    assert.deepEqual(await store.ofDay(teamId, today()), { ...NONE, single: 2, valid: 2 });
  });

  it("adds to what others counted, team by team and day by day, rows of one flush among themselves too", async () => {
    const [a, b] = await Promise.all([newTeam(sql), newTeam(sql)]);
    const store = createUsageStore(sql);
    const rows = [
      one(a.teamId),
      { ...one(a.teamId), cached: 1 },
      one(b.teamId),
      { ...one(b.teamId, dayAgo(1)), bulk: 7, risky: 3, invalid: 2, unknown: 2 },
    ];
    await store.record({ writer: randomUUID(), revision: 1, rows });
    await store.record({ writer: randomUUID(), revision: 1, rows: [one(a.teamId)] });
    assert.deepEqual(await store.ofDay(a.teamId, today()), { ...NONE, single: 3, valid: 3, cached: 1 });
    assert.deepEqual(await store.ofDay(b.teamId, today()), { ...NONE, single: 1, valid: 1 });
    assert.deepEqual(await store.ofDay(b.teamId, dayAgo(1)), {
      single: 1,
      bulk: 7,
      cached: 0,
      valid: 1,
      invalid: 2,
      risky: 3,
      unknown: 2,
    });
  });

  it("of many teams in any order, from many processes at once, neither loses nor deadlocks", async () => {
    const teams = await Promise.all(Array.from({ length: 20 }, () => newTeam(sql)));
    const store = createUsageStore(sql);
    const shuffled = (by: number) =>
      teams.map((_, i) => one(teams[(i * 7 + by * 3) % teams.length]?.teamId ?? ""));
    const writers = Array.from({ length: 8 }, () => randomUUID());
    for (let revision = 1; revision <= 5; revision++)
      await Promise.all(
        writers.map((writer, i) => store.record({ writer, revision, rows: shuffled(i + revision) })),
      );
    for (const { teamId } of teams) assert.equal((await store.ofDay(teamId, today())).single, 40);
  });

  it("passes over a team that is gone, and one that goes at that moment", async () => {
    const [gone, going, there] = await Promise.all([newTeam(sql), newTeam(sql), newTeam(sql)]);
    const store = createUsageStore(sql);
    const rows = [gone, going, there].map(({ teamId }) => one(teamId));
    await sql`delete from teams where id = ${gone.teamId}`;
    await store.record({ writer: randomUUID(), revision: 1, rows: [one(going.teamId)] });
    await Promise.all([
      sql`delete from teams where id = ${going.teamId}`,
      store.record({ writer: randomUUID(), revision: 1, rows }),
    ]);
    assert.equal((await store.ofDay(there.teamId, today())).single, 1);
    const left = await sql`select from usage_days where team_id in ${sql([gone.teamId, going.teamId])}`;
    assert.equal(left.length, 0);
  });

  it("does not wait for the deletion of a team, and reports whose rows it left out", async () => {
    const [doomed, other] = await Promise.all([newTeam(sql), newTeam(sql)]);
    const store = createUsageStore(sql);
    const flush = { writer: randomUUID(), revision: 1, rows: [one(doomed.teamId), one(other.teamId)] };
    await sql.begin(async (tx) => {
      await tx`delete from teams where id = ${doomed.teamId}`;
      assert.deepEqual(await store.record(flush), [doomed.teamId]);
      assert.equal((await store.ofDay(other.teamId, today())).single, 1);
      // The same again has been seen.
      assert.deepEqual(await store.record(flush), []);
    });
    assert.deepEqual(await store.record({ ...flush, revision: 2 }), []);
    assert.equal((await store.ofDay(other.teamId, today())).single, 2);
  });

  it("within a transaction counts when that commits, and only then", async () => {
    const { teamId } = await newTeam(sql);
    const store = createUsageStore(sql);
    const row = { ...NONE, teamId, day: today(), bulk: 5, valid: 5 };
    const failing = sql.begin(async (tx) => {
      await addUsage(tx, [row]);
      throw new Error("the chunk was another's");
    });
    await assert.rejects(failing, /another's/);
    assert.deepEqual(await store.ofDay(teamId, today()), NONE);
    await sql.begin((tx) => addUsage(tx, [row]));
    assert.deepEqual(await store.ofDay(teamId, today()), { ...NONE, bulk: 5, valid: 5 });
  });
});

describe("history", () => {
  it("counts as used what processes have told of leases that are not settled yet", async () => {
    const { teamId } = await newTeam(sql);
    const yesterday = dayAgo(1);
    await sql`insert into quota_days (team_id, day, used) values (${teamId}, ${yesterday}, 9)`;
    for (const spent of [3, 4])
      await sql`
        insert into quota_leases (id, team_id, day, granted, spent, tranche, expires_at)
        values (gen_random_uuid(), ${teamId}, ${yesterday}, 10, ${spent}, 1, now() + interval '1 minute')`;
    const days = await createUsageStore(sql).history(teamId, 3);
    assert.deepEqual(
      days.map(({ settled }) => settled),
      [0, 16, 0],
    );
  });

  it("has every day, used or not, today first, of this team alone", async () => {
    const [{ teamId }, other] = await Promise.all([newTeam(sql), newTeam(sql)]);
    const store = createUsageStore(sql);
    const rows = [one(teamId), one(teamId, dayAgo(2)), one(teamId, dayAgo(5)), one(other.teamId, dayAgo(1))];
    await store.record({ writer: randomUUID(), revision: 1, rows });
    await sql`insert into quota_days (team_id, day, used) values (${teamId}, ${dayAgo(2)}, 9)`;
    const days = [...(await store.history(teamId, 4))];
    assert.deepEqual(days, [
      { ...NONE, day: today(), settled: 0, single: 1, valid: 1 },
      { ...NONE, day: dayAgo(1), settled: 0 },
      { ...NONE, day: dayAgo(2), settled: 9, single: 1, valid: 1 },
      { ...NONE, day: dayAgo(3), settled: 0 },
    ]);
    assert.equal((await store.history(teamId, 0)).length, 0);
    assert.equal((await store.history(teamId, 365)).length, 365);
  });

  it("is kept for its time and then goes, what is still leased and what is new apart", async () => {
    const { teamId } = await newTeam(sql);
    const store = createUsageStore(sql);
    const { keptDays, writersKeptDays } = LIMITS.usage;
    const [old, last] = [dayAgo(keptDays + 1), dayAgo(keptDays)];
    const [silent, recent] = [randomUUID(), randomUUID()];
    await store.record({ writer: recent, revision: 1, rows: [one(teamId, old), one(teamId, last)] });
    await store.record({ writer: silent, revision: 1, rows: [] });
    for (const day of [old, last, today()]) {
      await sql`insert into quota_days (team_id, day, used, changed_at) values (${teamId}, ${day}, 1, ${`${day}T01:00:00Z`})`;
      await sql`insert into quota_thresholds (team_id, day, percent) values (${teamId}, ${day}, 80)`;
    }
    await sql`update usage_writers set seen_at = now() - ${`${writersKeptDays + 1} days`}::interval where id = ${silent}`;
    assert.ok((await store.prune()) >= 4);
    assert.equal(await store.prune(), 0);
    const daysOf = async (table: string) =>
      (
        await sql<{ day: string }[]>`
          select day::text from ${sql(table)} where team_id = ${teamId} order by day`
      ).map(({ day }) => day);
    assert.deepEqual(await daysOf("usage_days"), [last]);
    assert.deepEqual(await daysOf("quota_days"), [last, today()]);
    assert.deepEqual(await daysOf("quota_thresholds"), [last, today()]);
    const writers = await sql<
      { id: string }[]
    >`select id from usage_writers where id in ${sql([silent, recent])}`;
    assert.deepEqual([...writers], [{ id: recent }]);
  });
});
