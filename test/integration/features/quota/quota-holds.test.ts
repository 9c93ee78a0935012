import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { insertJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { holdQuota, settleHold } from "../../../../src/features/quota/quota-holds.ts";
import { createQuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { inlineJob } from "../../../support/bulk-tasks.ts";
import fc from "../../../support/properties.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

/** Leases and holds on one ledger. */

const { sql } = await useDatabase();

const LIMIT = 50;

/** A job that holds `units`; null when there were not so many left. */
function hold(teamId: string, units: number): Promise<string | null> {
  const id = newId("job");
  return sql.begin(async (tx) => {
    await insertJob(tx, inlineJob(teamId, id), "submitting");
    const { held } = await holdQuota(tx, { jobId: id, teamId, limit: LIMIT, units });
    return held ? id : null;
  });
}

async function outOf(teamId: string): Promise<{ used: number; taken: number }> {
  const [row] = await sql<[{ used: number; taken: number }]>`
    select (select coalesce(sum(used), 0)::int from quota_days where team_id = ${teamId}) as used,
      ((select coalesce(sum(used), 0) from quota_days where team_id = ${teamId})
       + (select coalesce(sum(granted), 0) from quota_leases where team_id = ${teamId})
       + (select coalesce(sum(units), 0) from quota_holds where team_id = ${teamId}))::int as taken`;
  return row;
}

type Step = { do: "hold"; units: number } | { do: "settle"; charged: number } | { do: "lease"; want: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("hold" as const), units: fc.integer({ min: 0, max: 30 }) }),
  fc.record({ do: fc.constant("settle" as const), charged: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ do: fc.constant("lease" as const), want: fc.integer({ min: 1, max: 20 }) }),
);

describe("settled, leased and held", () => {
  it("never come to more than the limit, whatever happens at once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 5 }),
        async (rounds) => {
          const { teamId } = await newTeam(sql, "enterprise");
          const ledger = createQuotaLedger(sql);
          const jobs: string[] = [];
          let settled = 0;
          for (const round of rounds) {
            await Promise.all(
              round.map(async (next) => {
                if (next.do === "lease")
                  return void (await ledger.lease(randomUUID(), teamId, {
                    limit: LIMIT,
                    want: next.want,
                    share: 1,
                  }));
                if (next.do === "hold") {
                  const job = await hold(teamId, next.units);
                  if (job !== null) jobs.push(job);
                  return;
                }
                const job = jobs.shift();
                if (job === undefined) return;
                const [row] = await sql<
                  [{ units: number }]
                >`select units from quota_holds where job_id = ${job}`;
                settled += Math.min(next.charged, row.units);
                // Twice, as two workers might: the second time there is nothing to settle.
                await Promise.all([settleHold(sql, job, next.charged), settleHold(sql, job, next.charged)]);
              }),
            );
            const { used, taken } = await outOf(teamId);
            assert.ok(taken <= LIMIT, `${taken} of ${LIMIT}`);
            assert.equal(used, settled);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("lets one of many jobs have the last units, and the next when it gives them back", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    const jobs = await Promise.all(Array.from({ length: 20 }, () => hold(teamId, LIMIT)));
    const [winner, ...others] = jobs.filter((job) => job !== null);
    assert.ok(winner !== undefined && others.length === 0);
    const ledger = createQuotaLedger(sql);
    const ask = { limit: LIMIT, want: 10, share: 1 };
    assert.equal((await ledger.lease(randomUUID(), teamId, ask)).granted, 0);
    assert.equal((await ledger.usage(teamId)).held, LIMIT);
    await settleHold(sql, winner, 45);
    assert.equal((await ledger.lease(randomUUID(), teamId, ask)).granted, 5);
    assert.equal(await hold(teamId, 1), null);
  });

  it("says what is left, and what is only leased", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    await createQuotaLedger(sql).lease(randomUUID(), teamId, { limit: LIMIT, want: 30, share: 1 });
    const answer = await sql.begin(async (tx) =>
      holdQuota(tx, { jobId: newId("job"), teamId, limit: LIMIT, units: 21 }),
    );
    assert.deepEqual([answer.held, answer.available, answer.unspent], [false, 20, 30]);
  });

  it("go with their team", async () => {
    const { teamId } = await newTeam(sql, "enterprise");
    await hold(teamId, 10);
    await sql`delete from teams where id = ${teamId}`;
    assert.deepEqual(await outOf(teamId), { used: 0, taken: 0 });
  });
});
