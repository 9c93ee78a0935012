import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { createQuotaLedger, type QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { createClosing, newTeam, openDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const ASK = { limit: 1_000, want: 10, share: 64 };

let sql: Database;
const closing = createClosing();
before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

/** Resolves once a statement of this database waits for a lock. */
function somebodyWaits(): Promise<true> {
  return until("a statement waits for a lock", async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
}

describe("the ledger while a team is being deleted", () => {
  it("lets the deletion go first and then grants nothing", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    const ledger = createQuotaLedger(sql);
    await ledger.lease(randomUUID(), teamId, ASK);
    let leasing: ReturnType<typeof ledger.lease> | undefined;
    await sql.begin(async (tx) => {
      await tx`select from teams where id = ${teamId} for update`;
      leasing = ledger.lease(randomUUID(), teamId, ASK);
      await somebodyWaits();
      await tx`delete from teams where id = ${teamId}`;
    });
    assert.equal((await leasing)?.granted, 0);
    const left = await sql`select from quota_leases where team_id = ${teamId}`;
    assert.equal(left.length, 0);
  });

  it("flushes what is not locked, without waiting for the rest", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    const ledger = createQuotaLedger(sql);
    const [free, locked] = [randomUUID(), randomUUID()];
    for (const id of [free, locked]) await ledger.lease(id, teamId, ASK);
    const reports = [free, locked].map((id) => ({ id, taken: 2, inFlight: 0, revision: 1 }));
    const kept = await sql.begin(async (tx) => {
      await tx`select from quota_leases where id = ${locked} for update`;
      return { ids: await ledger.flush(reports) };
    });
    assert.deepEqual([...kept.ids], [free]);
    assert.equal((await ledger.usage(teamId)).used, 2);
  });
});

describe("a grant while reports come in", () => {
  it("counts in what is committed exactly the reports that it lists", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    const ledger = createQuotaLedger(sql);
    const reported = randomUUID();
    await ledger.lease(reported, teamId, { limit: 1_000_000, want: 100_000, share: 1 });
    const flushes = Array.from({ length: 200 }, (_, at) =>
      ledger.flush([{ id: reported, taken: at + 1, inFlight: 0, revision: at + 1 }]),
    );
    const grants = Array.from({ length: 100 }, () =>
      ledger.lease(randomUUID(), teamId, { limit: 1_000_000, want: 1, share: 64 }),
    );
    for (const { committed, leases } of await Promise.all(grants))
      assert.equal(
        committed,
        leases.reduce((sum, { spent }) => sum + spent, 0),
      );
    await Promise.all(flushes);
  });
});

describe("leases of many teams in one statement", () => {
  /** A team that has a day, which its first lease makes. */
  async function teamWithDay(ledger: QuotaLedger): Promise<string> {
    const { teamId } = await newTeam(sql, "enterprise");
    await ledger.lease(randomUUID(), teamId, ASK);
    return teamId;
  }
  const askFor = (teamId: string, want: number, limit = 1_000) => ({
    id: randomUUID(),
    teamId,
    limit,
    want,
    share: 1,
  });

  it("are granted as each by itself would be, with what was told of the others", async () => {
    const ledger = createQuotaLedger(sql);
    const [calm, short] = [await teamWithDay(ledger), await teamWithDay(ledger)];
    const asks = [askFor(calm, 20), askFor(short, 20, 15)];
    const grants = await ledger.leaseTogether(asks);
    assert.deepEqual([...grants.keys()].sort(), asks.map(({ id }) => id).sort());
    const [first, second] = asks.map(({ id }) => grants.get(id));
    assert.ok(first && second);
    assert.deepEqual([first.granted, second.granted], [20, 5]);
    const { day } = await ledger.usage(calm);
    for (const { day: theirs, msToMidnight, tranche, committed, leases } of [first, second]) {
      assert.equal(theirs, day);
      assert.ok(msToMidnight > 0 && msToMidnight <= DAY_MS);
      assert.ok(tranche > 0);
      assert.equal(committed, 0);
      assert.equal(leases.length, 1);
    }
  });

  it("pass over teams that are locked, gone or without a day, and their days, without waiting", async () => {
    const ledger = createQuotaLedger(sql);
    const free = await teamWithDay(ledger);
    const dayLocked = await teamWithDay(ledger);
    const leaving = await teamWithDay(ledger);
    const { teamId: fresh } = await newTeam(sql, "enterprise");
    const asks = [dayLocked, free, leaving, fresh, "team_nobody"].map((teamId) => askFor(teamId, 5));
    const grants = await sql.begin(async (tx) => {
      await tx`select from quota_days where team_id = ${dayLocked} for update`;
      await tx`select from teams where id = ${leaving} for update`;
      return { ids: [...(await ledger.leaseTogether(asks)).keys()] };
    });
    assert.deepEqual(
      grants.ids.map((id) => asks.find((asked) => asked.id === id)?.teamId),
      [free],
    );
    assert.deepEqual(
      [...(await ledger.leaseTogether([askFor(dayLocked, 5)])).values()].map(({ granted }) => granted),
      [5],
    );
  });

  it("are one of a team that comes twice: what is left is counted once a statement", async () => {
    const ledger = createQuotaLedger(sql);
    const teamId = await teamWithDay(ledger);
    const grants = await ledger.leaseTogether([1, 2, 3].map(() => askFor(teamId, 10, 20)));
    assert.deepEqual(
      [...grants.values()].map(({ granted }) => granted),
      [10],
    );
  });

  it("never exceed the limit, whoever asks at the same time and in whatever order", async () => {
    const ledger = createQuotaLedger(sql);
    const teams = await Promise.all(Array.from({ length: 4 }, () => teamWithDay(ledger)));
    const rounds = Array.from({ length: 12 }, (_, round) => {
      const order = round % 2 === 0 ? teams : [...teams].reverse();
      const asks = order.map((teamId) => askFor(teamId, 7, 50));
      return round % 3 === 0
        ? Promise.all(asks.map(({ id, teamId, ...ask }) => ledger.lease(id, teamId, ask)))
        : ledger.leaseTogether(asks);
    });
    await Promise.all(rounds);
    const sums = await sql<{ granted: number }[]>`
      select sum(granted)::int as granted from quota_leases where team_id in ${sql(teams)} group by team_id`;
    assert.equal(sums.length, 4);
    // Ten by the first lease of each; the last of those that are granted have what is left.
    for (const { granted } of sums) assert.ok(granted > 10 && granted <= 50, `${granted}`);
  });
});
