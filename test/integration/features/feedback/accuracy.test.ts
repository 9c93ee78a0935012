import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { readGroups, readWrong } from "../../../../src/features/feedback/feedback-sql.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

/** The accuracy of a team's feedback, however many reasons and providers it names. */

const { sql } = await useDatabase();

describe("the groups of feedback", () => {
  it("beyond the largest are counted together by verdict, so that no total is short", async () => {
    const { teamId } = await newTeam(sql);
    const { groups: most } = LIMITS.feedback;
    // Provider n has two messages, but for the last 40, which have one.
    await sql`
      insert into feedback (team_id, day, outcome, address_hash, verdict, reason, provider, hard)
      select ${teamId}, (now() at time zone 'utc')::date, outcome, lpad(n::text, 22, '0'), 'valid', 'accepted_mailbox',
             'provider ' || n, false
      from generate_series(1, ${most + 40}::integer) as n, unnest(array['delivered', 'bounced']) as outcome
      where outcome = 'delivered' or n <= ${most}`;
    const groups = await readGroups(sql, teamId, 30);
    assert.equal(groups.length, most + 1);
    assert.deepEqual(groups[0], {
      ...{ verdict: "valid", reason: null, provider: null },
      ...{ delivered: 40, bounced: 0, hardBounced: 0, complained: 0 },
    });
    assert.equal(
      groups.reduce((sum, { delivered, bounced }) => sum + delivered + bounced, 0),
      2 * most + 40,
    );
  });
});

describe("the wrong answers of feedback", () => {
  it("are the most frequent of the newest, so that a team's groups have an end", async () => {
    const { teamId } = await newTeam(sql);
    const { wrongCounted } = LIMITS.feedback;
    await sql`
      insert into feedback (team_id, day, outcome, address_hash, verdict, rule, hard)
      select ${teamId}, (now() at time zone 'utc')::date - case when n <= 10 then 1 else 0 end, 'delivered',
             lpad(n::text, 22, '0'), 'invalid', case when n <= 10 then 'old' else 'new' end, false
      from generate_series(1, ${wrongCounted + 5}::integer) as n`;
    const wrong = await readWrong(sql, teamId, 30);
    assert.deepEqual(
      wrong.map(({ rule, events }) => [rule, events]),
      [
        ["new", wrongCounted - 5],
        ["old", 5],
      ],
    );
  });
});
