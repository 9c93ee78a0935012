import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import { createQuotaLedger, type LeaseReport } from "../../../../src/features/quota/quota-ledger.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import type { Queryable } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor, newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const { sql } = await useDatabase();
const ledger = createQuotaLedger(sql);

/** A lease of ten units of a new team. */
async function leased() {
  const { teamId } = await newTeam(sql);
  const id = randomUUID();
  await ledger.lease(id, teamId, { limit: 100, want: 10, share: 1 });
  return { teamId, id };
}

const used = async (teamId: string) => (await ledger.usage(teamId)).used;
const report = (id: string, taken: number, inFlight = 0) => ({ id, taken, inFlight, revision: 1 });

const releaseAll = (reports: readonly LeaseReport[]) =>
  Promise.all(reports.map((each) => ledger.release(each)));

describe("leases that are released", () => {
  it("are each settled by what was taken of them; what is in flight stays, and unknown ones are passed over", async () => {
    const [one, other, flying] = [await leased(), await leased(), await leased()];
    const told = [report(one.id, 3), report(randomUUID(), 7), report(other.id, 0), report(flying.id, 5, 2)];
    await releaseAll(told);
    assert.deepEqual(await Promise.all([one, other, flying].map(({ teamId }) => used(teamId))), [3, 0, 5]);
    const left = await sql<{ id: string; granted: number }[]>`select id, granted from quota_leases`;
    assert.deepEqual(
      left.map(({ id, granted }) => ({ id, granted })),
      [{ id: flying.id, granted: 5 }],
    );
    await releaseAll([report(one.id, 3), report(flying.id, 4)].map((each) => ({ ...each, revision: 2 })));
    assert.deepEqual([await used(one.teamId), await used(flying.teamId)], [3, 4]);
  });

  it("are all settled where several are of one team and day", async () => {
    const { teamId, id } = await leased();
    const ids = [id, randomUUID(), randomUUID(), randomUUID()];
    for (const each of ids.slice(1)) await ledger.lease(each, teamId, { limit: 100, want: 10, share: 1 });
    await releaseAll(ids.map((each) => report(each, 4)));
    assert.equal(await used(teamId), 16);
  });
});

describe("a process that gives its leases back", () => {
  it("has those of all teams back but the one whose day is locked, and that one once it is free", async () => {
    const clock = createFakeClock();
    const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
    const teamIds: string[] = [];
    // Many more than there are connections: what waits for the lock must not have other statements behind it.
    for (let i = 0; i < 60; i++) {
      const { teamId } = await newTeam(sql);
      teamIds.push(teamId);
      (await quota.reserve(actorFor(teamId, { dailyQuota: 100 }))).commit();
    }
    const [held = "", ...others] = teamIds;
    const settled = (queryable: Queryable, teamId: string) => queryable<{ used: number }[]>`
      select used::int from quota_days where team_id = ${teamId}
        and not exists (select from quota_leases l where l.team_id = ${teamId})`;
    let drained: Promise<void> | undefined;
    await sql.begin(async (tx) => {
      await tx`select from quota_days where team_id = ${held} for update`;
      drained = quota.drain();
      for (const teamId of others)
        await until("the others are settled", async () => (await settled(sql, teamId))[0]?.used === 1);
      assert.equal((await settled(tx, held)).length, 0);
    });
    await drained;
    assert.equal((await settled(sql, held))[0]?.used, 1);
  });
});
