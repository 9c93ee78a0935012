import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createTeamRemovals, recordTeamRemoval } from "../../../../src/features/teams/team-removal-sql.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();
const removals = createTeamRemovals(sql);
beforeEach(async () => {
  await sql`delete from team_removals`;
});

/** Seconds from now until each is due. */
async function dueInS(teamId: string): Promise<number> {
  const [row] = await sql<[{ s: number }]>`
    select extract(epoch from due_at - clock_timestamp())::float8 as s from team_removals where team_id = ${teamId}`;
  return row.s;
}

const near = (actual: number, expectedS: number) =>
  assert.ok(actual <= expectedS && actual > expectedS - 30, `${actual} is not about ${expectedS}`);

async function record(): Promise<string> {
  const id = newId("team");
  await sql.begin((tx) => recordTeamRemoval(tx, id));
  return id;
}

describe("removals of teams", () => {
  it("are each taken by one of many who ask at once, and by another when the lease has ended", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, record));
    const taken = await Promise.all(Array.from({ length: 20 }, () => removals.claimDue()));
    assert.deepEqual(taken.flatMap((one) => one?.teamId ?? []).sort(), ids.sort());
    near(await dueInS(ids[0] ?? ""), LIMITS.removals.leaseMs / 1_000);
    await sql`update team_removals set due_at = now() where team_id = ${ids[0] ?? ""}`;
    assert.equal((await removals.claimDue())?.teamId, ids[0]);
  });

  it("are due again at once when more is left, later and later after failures", async () => {
    const id = await record();
    const first = { teamId: id, sweepsDone: 0 };
    await removals.recordSweep(first, "more");
    assert.equal((await removals.claimDue())?.sweepsDone, 0);
    const waits: number[] = [];
    for (let failures = 0; failures < 30; failures++) {
      await removals.recordSweep(first, "failed");
      waits.push(await dueInS(id));
    }
    near(waits[0] ?? 0, LIMITS.removals.retryFirstMs / 1_000);
    near(waits[3] ?? 0, (8 * LIMITS.removals.retryFirstMs) / 1_000);
    near(waits.at(-1) ?? 0, LIMITS.removals.retryMaxMs / 1_000);
    await removals.recordSweep(first, "clean");
    await sql`update team_removals set due_at = now()`;
    assert.equal((await removals.claimDue())?.sweepsDone, 1);
    await removals.recordSweep({ teamId: id, sweepsDone: 1 }, "failed");
    near(await dueInS(id), LIMITS.removals.retryFirstMs / 1_000);
  });

  it("end with the second clean sweep; the first that two made at once is one", async () => {
    const id = await record();
    const taken = { teamId: id, sweepsDone: 0 };
    await Promise.all([removals.recordSweep(taken, "clean"), removals.recordSweep(taken, "clean")]);
    near(await dueInS(id), LIMITS.removals.sweepAgainMs / 1_000);
    assert.equal(await removals.claimDue(), null);
    const last = { teamId: id, sweepsDone: 1 };
    await Promise.all([removals.recordSweep(last, "clean"), removals.recordSweep(last, "failed")]);
    assert.equal((await sql`select from team_removals`).length, 0);
  });
});
