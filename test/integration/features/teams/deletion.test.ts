import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { createTeam } from "../../../../src/features/teams/team.ts";
import type { AppError } from "../../../../src/platform/errors.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { newTeam, ownerOf, silentLog, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const { sql } = await useDatabase();
const bus = { announce: async () => undefined };
const team = createTeam({
  sql,
  publisher: createChangePublisher({ sql, bus, log: silentLog, invalidate: () => undefined }),
});

async function ownedTeam() {
  const made = await newTeam(sql);
  const { teamId } = made;
  const actor = await ownerOf(sql, made);
  const writeEvent = (on: Pick<Database, "unsafe">, id: string) =>
    on.unsafe("insert into events (id, team_id, type, livemode, data) values ($1, $2, 'ping', true, '{}')", [
      id,
      teamId,
    ]);
  return { teamId, actor, writeEvent };
}

const someoneWaits = () =>
  until("the deletion waits", async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });

const isThere = async (teamId: string) => (await sql`select from teams where id = ${teamId}`).length === 1;

describe("the deletion of a team", () => {
  it("survives a deadlock with a session that holds a row of the team and writes another", async () => {
    const { teamId, actor, writeEvent } = await ownedTeam();
    await writeEvent(sql, "evt_held");
    let deletion: Promise<void> | null = null;
    const other = sql.begin(async (tx) => {
      await tx`select from events where id = 'evt_held' for update`;
      deletion = team.remove(actor);
      await someoneWaits();
      await writeEvent(tx, "evt_more");
    });
    // The database ends one of the two; whichever it was, the team goes.
    await other.catch(() => undefined);
    await deletion;
    assert.equal(await isThere(teamId), false);
    assert.equal((await sql`select from events where team_id = ${teamId}`).length, 0);
  });

  it("waits for a lease of quota that is being taken, and deadlocks with none", async () => {
    const { teamId, actor } = await ownedTeam();
    await sql`insert into quota_days (team_id, day) values (${teamId}, current_date)`;
    let deletion: Promise<void> | null = null;
    // The locks of taking a lease: a share of the team's lock, the day, then a row that refers to the team.
    await sql.begin(async (tx) => {
      await tx`select from teams where id = ${teamId} for key share`;
      await tx`select from quota_days where team_id = ${teamId} for update`;
      deletion = team.remove(actor);
      await someoneWaits();
      await tx`
        insert into quota_leases (id, team_id, day, granted, tranche, expires_at)
        values (gen_random_uuid(), ${teamId}, current_date, 1, 1, now())`;
    });
    await deletion;
    assert.equal(await isThere(teamId), false);
  });

  it("finds all that goes with it by an index, whatever others have", async () => {
    const unindexed = await sql<{ rows: string }[]>`
      select c.conrelid::regclass || ': ' || pg_get_constraintdef(c.oid) as rows from pg_constraint c
      where c.contype = 'f' and c.confdeltype = 'c' and not exists (
        select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1]
          and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) like '(% IS NOT NULL)'))`;
    assert.deepEqual(
      unindexed.map(({ rows }) => rows),
      [],
    );
  });

  it("of one that has very much is done in pieces, none longer than a statement may take", async () => {
    const { teamId, actor } = await ownedTeam();
    const { deletionBatch } = LIMITS.team;
    await sql.unsafe(`
      create table pieces (of_table text, size integer);
      create function note_piece() returns trigger language plpgsql as $$ begin
        insert into pieces select tg_table_name, count(*) from old_rows;
        return null;
      end $$;
      create trigger piece after delete on events
        referencing old table as old_rows for each statement execute function note_piece();
      create trigger piece after delete on webhook_deliveries
        referencing old table as old_rows for each statement execute function note_piece();`);
    await sql`
      insert into events (id, team_id, type, livemode, data)
      select 'evt_' || n, ${teamId}, 'ping', true, '{}' from generate_series(1, ${deletionBatch * 2 + 1}) n`;
    await sql`
      insert into webhook_deliveries (id, team_id, event_id, url, lane)
      select 'dlv_' || n, ${teamId}, 'evt_' || n, 'https://a.example', 'a'
      from generate_series(1, ${deletionBatch * 2 + 1}) n`;
    await team.remove(actor);
    assert.equal(await isThere(teamId), false);
    const largest = await sql<{ of_table: string; size: number; total: number }[]>`
      select of_table, max(size) as size, sum(size)::int as total from pieces group by of_table order by of_table`;
    assert.deepEqual(
      largest.map((row) => ({ ...row })),
      ["events", "webhook_deliveries"].map((of_table) => ({
        of_table,
        size: deletionBatch,
        total: deletionBatch * 2 + 1,
      })),
    );
    await sql.unsafe("drop trigger piece on events; drop trigger piece on webhook_deliveries");
  });

  it("leaves all as it was when it fails", async () => {
    const { teamId, actor } = await ownedTeam();
    await sql`insert into team_removals (team_id) values (${teamId})`;
    await assert.rejects(team.remove(actor));
    assert.ok(await isThere(teamId));
  });

  it("is refused to a caller who was an owner when authenticated, and is none any more", async () => {
    const { teamId, actor } = await ownedTeam();
    await sql`update memberships set role = 'admin' where team_id = ${teamId}`;
    await assert.rejects(team.remove(actor), (error: AppError) => error.code === "insufficient_role");
    await sql`delete from memberships where team_id = ${teamId}`;
    await assert.rejects(team.remove(actor), (error: AppError) => error.code === "unauthorized");
    assert.ok(await isThere(teamId));
    assert.equal((await sql`select from team_removals where team_id = ${teamId}`).length, 0);
  });
});
