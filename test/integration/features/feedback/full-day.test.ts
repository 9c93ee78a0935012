import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { NO_ANSWER } from "../../../../src/features/feedback/event.ts";
import { finishReport } from "../../../../src/features/feedback/finished-report.ts";
import { createRecordFeedback } from "../../../../src/features/feedback/record.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { countInserts } from "../../../support/count-inserts.ts";
import { newTeam, ownerOf, silentLog, useDatabase } from "../../../support/store.ts";

/** Reports over the day's limit are refused before anything is written: rolled back rows cost as much as kept ones. */

const { sql } = await useDatabase();
const inserts = await countInserts(sql, "feedback");
const { record, requireRoom } = createRecordFeedback({
  ...{ sql, clock: systemClock, log: silentLog },
  withdraw: async () => false,
  onRecorded: () => undefined,
});

async function ownerWith(left: number) {
  const made = await newTeam(sql);
  await sql`
    insert into feedback_days (team_id, day, events, withdrawals)
    values (${made.teamId}, (now() at time zone 'utc')::date, ${LIMITS.feedback.eventsPerTeamDay - left}, 0)`;
  return ownerOf(sql, made);
}
const reportOf = (teamId: string, from: number, to: number) =>
  finishReport(
    Array.from({ length: to - from }, (_, i) => ({
      ...NO_ANSWER,
      ...{ address: `a${from + i}@b.example`, outcome: "delivered" as const, atMs: null, bounce: null },
    })),
    { teamId, nowMs: Date.now(), providers: [], mayWithdraw: false },
  );
const refused = { code: "limit_reached" };

describe("a report over the day's limit", () => {
  it("is refused before it is written, in whole or in part", async () => {
    const actor = await ownerWith(5);
    const { teamId } = actor;
    const before = await inserts();
    await assert.rejects(record(actor, reportOf(teamId, 0, 2_500)), refused);
    assert.equal(await inserts(), before);
    // What is known already does not count.
    assert.equal((await record(actor, reportOf(teamId, 0, 3))).accepted, 3);
    assert.deepEqual(await record(actor, reportOf(teamId, 0, 5)), { accepted: 2, duplicates: 3, ignored: 0 });
    const written = await inserts();
    await assert.rejects(record(actor, reportOf(teamId, 0, 6)), refused);
    assert.equal(await inserts(), written);
    // The request that used up the day may be repeated.
    assert.deepEqual(await record(actor, reportOf(teamId, 0, 5)), { accepted: 0, duplicates: 5, ignored: 0 });
  });

  it("is refused before it is read, but of a test key", async () => {
    const actor = await ownerWith(0);
    await assert.rejects(requireRoom(actor), refused);
    await requireRoom({ ...actor, livemode: false });
    await requireRoom(await ownerWith(1));
  });
});
