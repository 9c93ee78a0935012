import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createQuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const ASK = { limit: 1_000, want: 10, share: 64 };

const { sql } = await useDatabase();

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

describe("leases of many teams", () => {
  it("never exceed the limit, whoever asks at the same time and in whatever order", async () => {
    const ledger = createQuotaLedger(sql);
    const teams = await Promise.all(
      Array.from({ length: 4 }, async () => (await newTeam(sql, "enterprise")).teamId),
    );
    const lease = (teamId: string) => ledger.lease(randomUUID(), teamId, { limit: 50, want: 7, share: 1 });
    const rounds = Array.from({ length: 12 }, (_, round) => (round % 2 === 0 ? teams : [...teams].reverse()));
    await Promise.all(rounds.flat().map(lease));
    const sums = await sql<{ granted: number }[]>`
      select sum(granted)::int as granted from quota_leases where team_id in ${sql(teams)} group by team_id`;
    assert.deepEqual(
      sums.map(({ granted }) => granted),
      [50, 50, 50, 50],
    );
  });
});
