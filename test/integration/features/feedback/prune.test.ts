import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { pruneFeedback } from "../../../../src/features/feedback/feedback-sql.ts";
import { feedbackPeriodicTasks } from "../../../../src/features/feedback/feedback-tasks.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

/** Feedback is kept for the documented time, and no longer. */

const { sql } = await useDatabase();

describe("feedback over its retention", () => {
  it("is deleted by the relay's task, batch by batch, and nothing else is", async () => {
    const { teamId } = await newTeam(sql);
    const { keptDays, prunedPerRound } = LIMITS.feedback;
    await sql`
      insert into feedback (team_id, day, outcome, address_hash, hard)
      select ${teamId}, (now() at time zone 'utc')::date - ${keptDays}::integer - (n % 3), 'delivered',
             lpad(n::text, 22, '0'), false
      from generate_series(0, ${prunedPerRound * 3}::integer) as n`;
    await sql`
      insert into feedback_days
      select ${teamId}, (now() at time zone 'utc')::date - n, 1, 0
      from generate_series(0, ${keptDays + 5}::integer) as n`;
    const [task] = feedbackPeriodicTasks(() => pruneFeedback(sql));
    await task?.run(() => false);
    const rows = await sql<{ ago: number; rows: number }[]>`
      select (now() at time zone 'utc')::date - day as ago, count(*) as rows from feedback group by day`;
    assert.deepEqual([...rows], [{ ago: keptDays, rows: prunedPerRound + 1 }]);
    const [days] = await sql<{ rows: number }[]>`select count(*) as rows from feedback_days`;
    assert.equal(days?.rows, keptDays + 1);
  });
});
