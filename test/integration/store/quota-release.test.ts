import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { Database } from "../../../src/store/postgres.ts";
import { createQuotaLedger, type QuotaLedger } from "../../../src/store/quota-ledger.ts";
import { createClosing, newTeam, openDatabase } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const closing = createClosing();
let sql: Database;
let ledger: QuotaLedger;

before(async () => {
  ({ sql } = await openDatabase(closing));
  ledger = createQuotaLedger(sql);
});
after(closing.close);

/** A lease of ten units of a new team. */
async function leased() {
  const { teamId } = await newTeam(sql);
  const id = randomUUID();
  await ledger.lease(id, teamId, { limit: 100, want: 10, share: 1 });
  return { teamId, id };
}

const used = async (teamId: string) => (await ledger.usage(teamId)).used;
const report = (id: string, taken: number, inFlight = 0) => ({ id, taken, inFlight, revision: 1 });

describe("leases that are released together", () => {
  it("are each settled by what was taken of them; what is in flight stays, and unknown ones are passed over", async () => {
    const [one, other, flying] = [await leased(), await leased(), await leased()];
    await ledger.release([
      report(one.id, 3),
      report(randomUUID(), 7),
      report(other.id, 0),
      report(flying.id, 5, 2),
    ]);
    assert.deepEqual(await Promise.all([one, other, flying].map(({ teamId }) => used(teamId))), [3, 0, 5]);
    const left = await sql<{ id: string; granted: number }[]>`select id, granted from quota_leases`;
    assert.deepEqual(
      left.map(({ id, granted }) => ({ id, granted })),
      [{ id: flying.id, granted: 5 }],
    );
    await ledger.release([report(one.id, 3), report(flying.id, 4)].map((told) => ({ ...told, revision: 2 })));
    assert.deepEqual([await used(one.teamId), await used(flying.teamId)], [3, 4]);
  });

  it("several of one team and day among them", async () => {
    const { teamId, id } = await leased();
    const second = randomUUID();
    await ledger.lease(second, teamId, { limit: 100, want: 10, share: 1 });
    await ledger.release([report(id, 4), report(second, 5)]);
    assert.equal(await used(teamId), 9);
  });

  it("do not wait for each other's days: one that is locked is settled once it is free", async () => {
    const [held, free] = [await leased(), await leased()];
    let releasing: Promise<void> | undefined;
    await sql.begin(async (tx) => {
      await tx`select from quota_days where team_id = ${held.teamId} for update`;
      releasing = ledger.release([report(held.id, 2), report(free.id, 6)]);
      await until("the free one is settled", async () => {
        const [row] = await sql<
          [{ used: number }]
        >`select used::int from quota_days where team_id = ${free.teamId}`;
        return row.used === 6;
      });
      const [row] = await tx<
        [{ used: number }]
      >`select used::int from quota_days where team_id = ${held.teamId}`;
      assert.equal(row.used, 0);
    });
    await releasing;
    assert.equal(await used(held.teamId), 2);
  });
});
