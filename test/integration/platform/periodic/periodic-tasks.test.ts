import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { cleanupPeriodicTasks } from "../../../../src/app/cleanup-tasks.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createAuthChanges } from "../../../../src/features/auth/auth-changes.ts";
import { pruneIdempotencyKeys } from "../../../../src/features/idempotency/idempotency-sql.ts";
import { createQuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { createRelay } from "../../../../src/platform/periodic/periodic-tasks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, silentLog, useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();

const parts = () => ({
  ledger: createQuotaLedger(sql),
  changes: createAuthChanges(sql),
  idempotencyKeys: { prune: () => pruneIdempotencyKeys(sql) },
});

/** Leases of many teams that their processes have abandoned, with 5 units reported for each. */
async function abandonLeases(count: number): Promise<string[]> {
  const ledger = createQuotaLedger(sql);
  const teams: string[] = [];
  for (let i = 0; i < count; i++) {
    const { teamId } = await newTeam(sql);
    const id = randomUUID();
    await ledger.lease(id, teamId, { limit: 10_000, want: 20, share: 64 });
    await ledger.flush([{ id, taken: 5, inFlight: 0, revision: 1 }]);
    teams.push(teamId);
  }
  await sql`update quota_leases set expires_at = clock_timestamp() - interval '1 second'`;
  return teams;
}

describe("the relay", () => {
  it("settles the leases of dead processes, each once though two relays do it", async () => {
    const teams = await abandonLeases(25);
    const clock = createFakeClock();
    const tasks = cleanupPeriodicTasks(parts());
    const deps = { tasks, clock, log: silentLog };
    const relays = [createRelay(deps), createRelay(deps)];
    for (const relay of relays) await relay.start?.();
    clock.advance(LIMITS.relay.everyMs);
    for (const relay of relays) await relay.drain?.();
    const left = await sql`select 1 from quota_leases`;
    assert.equal(left.length, 0);
    const days = await sql<{ used: number }[]>`
      select used from quota_days where team_id in ${sql(teams)}`;
    // Five were reported; ten more may have been taken by the process.
    assert.deepEqual(
      days.map((day) => day.used),
      teams.map(() => 15),
    );
    assert.equal(clock.pending, 0);
  });

  it("prunes old changes, and goes on after a task failed", async () => {
    await sql`insert into auth_changes (kind, subject, created_at) values ('team', 'old', now() - interval '2 hours')`;
    const clock = createFakeClock();
    let reaps = 0;
    const failing = {
      reap: async () => {
        reaps += 1;
        throw new Error("down");
      },
    };
    const tasks = cleanupPeriodicTasks({ ...parts(), ledger: failing });
    const relay = createRelay({ tasks, clock, log: silentLog });
    await relay.start?.();
    await clock.advanceAsync(LIMITS.relay.pruneEveryMs);
    await relay.drain?.();
    assert.ok(reaps > 1);
    assert.equal((await sql`select 1 from auth_changes where subject = 'old'`).length, 0);
  });
});
