import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  type AuthChange,
  type ChangePage,
  createAuthChanges,
  readOwnChanges,
} from "../../../../src/features/auth/auth-changes.ts";
import { hashSecret } from "../../../../src/features/identity/api-key.ts";
import { deleteMember } from "../../../../src/features/identity/member-sql.ts";
import type { Bootstrapped } from "../../../../src/features/teams/bootstrap.ts";
import type { Database, Transaction } from "../../../../src/stores/postgres/postgres.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();

const subjects = (page: ChangePage) => page.changes.map((change) => change.subject);

/** Writes a row as the triggers do. */
async function recordChange(tx: Transaction, change: AuthChange): Promise<void> {
  await tx`insert into auth_changes (kind, subject) values (${change.kind}, ${change.subject})`;
}

/** A transaction that has written its change and is committed when the test says so. */
async function openChange(subject: string): Promise<{ commit(): Promise<void> }> {
  let written = (): void => undefined;
  let release = (): void => undefined;
  const isWritten = new Promise<void>((resolve) => {
    written = resolve;
  });
  const mayCommit = new Promise<void>((resolve) => {
    release = resolve;
  });
  const done = sql.begin(async (tx) => {
    await recordChange(tx, { kind: "team", subject });
    written();
    await mayCommit;
  });
  await isWritten;
  return {
    async commit() {
      release();
      await done;
    },
  };
}

describe("the feed of changes", () => {
  it("starts empty and then reports each change", async () => {
    const changes = createAuthChanges(sql);
    const first = await changes.since(null);
    assert.deepEqual(first.changes, []);
    await sql.begin((tx) => recordChange(tx, { kind: "credential", subject: "ab12" }));
    const second = await changes.since(first.cursor);
    assert.deepEqual(
      second.changes.map(({ kind, subject }) => ({ kind, subject })),
      [{ kind: "credential", subject: "ab12" }],
    );
    assert.deepEqual(subjects(await changes.since(second.cursor)), []);
  });

  it("misses no change that was numbered early and committed late", async () => {
    const changes = createAuthChanges(sql);
    await sql`delete from auth_changes`;
    const start = await changes.since(null);
    const early = await openChange("early");
    const late = await openChange("late");
    await late.commit();
    const afterLate = await changes.since(start.cursor);
    assert.deepEqual(subjects(afterLate), ["late"]);
    await early.commit();
    const afterEarly = await changes.since(afterLate.cursor);
    assert.deepEqual(subjects(afterEarly), ["early"]);
    assert.deepEqual(subjects(await changes.since(afterEarly.cursor)), []);
  });

  it("reports each change once while a transaction is open, however many there are, and then that one's", async () => {
    const changes = createAuthChanges(sql);
    let { cursor } = await changes.since(null);
    const open = await openChange("open");
    const half = Math.ceil(LIMITS.keys.changesPerPoll * 0.6);
    for (let round = 0; round < 4; round++) {
      await sql`
        insert into auth_changes (kind, subject)
        select 'team', ${`${round}.`} || n from generate_series(1, ${half}) n`;
      const page = await changes.since(cursor);
      assert.equal(page.overflow, false, `round ${round}`);
      assert.equal(page.changes.length, half);
      assert.ok(page.changes.every(({ subject }) => subject.startsWith(`${round}.`)));
      cursor = page.cursor;
    }
    await open.commit();
    assert.deepEqual(subjects(await changes.since(cursor)), ["open"]);
  });

  it("misses none of many that race with the polls", async () => {
    const changes = createAuthChanges(sql);
    let { cursor } = await changes.since(null);
    const seen: string[] = [];
    const wanted = Array.from({ length: 60 }, (_, i) => `race${i}`);
    let writing = true;
    const writers = Promise.all(
      [0, 1, 2, 3].map(async (lane) => {
        for (const [i, subject] of wanted.entries()) {
          if (i % 4 !== lane) continue;
          await sql.begin(async (tx) => {
            await recordChange(tx, { kind: "team", subject });
            await tx`select pg_sleep(${(i % 3) / 1000})`;
          });
        }
      }),
    ).finally(() => {
      writing = false;
    });
    for (let last = false; !last; ) {
      last = !writing;
      const page = await changes.since(cursor);
      seen.push(...subjects(page));
      cursor = page.cursor;
    }
    await writers;
    assert.deepEqual(seen.sort(), wanted.sort());
  });

  it("says so when there were more changes than it reads, or when another server answers", async () => {
    const changes = createAuthChanges(sql);
    const { cursor } = await changes.since(null);
    await sql`
      insert into auth_changes (kind, subject)
      select 'team', n::text from generate_series(1, ${LIMITS.keys.changesPerPoll + 1}) n`;
    assert.equal((await changes.since(cursor)).overflow, true);
    const [ahead] = await sql<[{ cursor: string }]>`
      select concat_ws(':', at, at, '') as cursor
      from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000000 as at) later`;
    assert.equal((await changes.since(ahead.cursor)).overflow, true);
  });

  it("reports a transaction's changes one by one, and as `everything` beyond the bound", async () => {
    const max = LIMITS.keys.changesPerPoll;
    const [few, many] = await sql.begin(async (tx) => {
      await tx`insert into auth_changes (kind, subject) select 'team', n::text from generate_series(1, ${max}) n`;
      await tx`insert into auth_changes (kind, subject) values ('team', '1')`;
      const exact = await readOwnChanges(tx);
      await tx`insert into auth_changes (kind, subject) values ('credential', 'ab')`;
      return [exact, await readOwnChanges(tx)];
    });
    assert.equal(few?.length, max);
    assert.deepEqual(many, [{ kind: "all", subject: "" }]);
  });

  it("keeps nothing of a transaction that failed, and prunes what is old", async () => {
    const changes = createAuthChanges(sql);
    await sql`delete from auth_changes`;
    await assert.rejects(
      sql.begin(async (tx) => {
        await recordChange(tx, { kind: "team", subject: "undone" });
        throw new Error("rolled back");
      }),
    );
    await sql`insert into auth_changes (kind, subject, created_at) values ('team', 'old', now() - interval '2 hours')`;
    await sql`insert into auth_changes (kind, subject) values ('team', 'new')`;
    await changes.prune();
    const left = await sql<{ subject: string }[]>`select subject from auth_changes`;
    assert.deepEqual(
      left.map((row) => row.subject),
      ["new"],
    );
  });
});

describe("the database notes by itself", () => {
  type Change = (sql: Database, team: Bootstrapped) => Promise<unknown>;
  const sha = (secret: string) => Buffer.from(hashSecret(secret), "hex");
  const NOTED: [string, Change, (team: Bootstrapped) => string[]][] = [
    [
      "a tier",
      (sql, { teamId }) => sql`update teams set tier = 'pro' where id = ${teamId}`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "limits",
      (sql, { teamId }) => sql`update teams set limits = '{"dailyQuota": 7}' where id = ${teamId}`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "a member's role",
      (sql, { teamId }) => sql`update memberships set role = 'member' where team_id = ${teamId}`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "a member's leaving",
      (sql, { teamId }) => sql`delete from memberships where team_id = ${teamId}`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "a key's revocation",
      (sql, { liveKey }) => sql`update api_keys set revoked_at = now() where hash = ${sha(liveKey)}`,
      (team) => [`credential ${hashSecret(team.liveKey)}`],
    ],
    [
      "a key's loss of its user",
      (sql, { testKey }) => sql`update api_keys set user_id = null where hash = ${sha(testKey)}`,
      (team) => [`credential ${hashSecret(team.testKey)}`],
    ],
    [
      "a session's end",
      (sql, { sessionToken }) => sql`delete from sessions where hash = ${sha(sessionToken)}`,
      (team) => [`credential ${hashSecret(team.sessionToken)}`],
    ],
    [
      "a session's shorter life",
      (sql, { sessionToken }) =>
        sql`update sessions set expires_at = now() where hash = ${sha(sessionToken)}`,
      (team) => [`credential ${hashSecret(team.sessionToken)}`],
    ],
    [
      "a blocked domain",
      (sql, { teamId }) => sql`insert into blocklist (team_id, domain) values (${teamId}, 'a.test')`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "a team that goes: one note stands for all its credentials",
      (sql, { teamId }) => sql`delete from teams where id = ${teamId}`,
      (team) => [`team ${team.teamId}`],
    ],
    [
      "a user who goes: the keys lose theirs, the sessions end",
      (sql, { userId }) => sql`delete from users where id = ${userId}`,
      (team) => [
        `team ${team.teamId}`,
        ...[team.liveKey, team.testKey, team.sessionToken].map(
          (secret) => `credential ${hashSecret(secret)}`,
        ),
      ],
    ],
    [
      "nothing where nothing changed that is cached",
      async (sql, { teamId }) => {
        await sql`update api_keys set last_used_at = now() where team_id = ${teamId}`;
        await sql`update teams set name = 'another' where id = ${teamId}`;
      },
      () => [],
    ],
  ];
  for (const [what, change, expected] of NOTED) {
    it(what, async () => {
      const team = await newTeam(sql);
      const feed = createAuthChanges(sql);
      const { cursor } = await feed.since(null);
      await change(sql, team);
      const { changes } = await feed.since(cursor);
      const noted = new Set(changes.map(({ kind, subject }) => `${kind} ${subject}`));
      assert.deepEqual([...noted].sort(), expected(team).sort());
    });
  }

  /** Kinds and subjects of the notes of a change. */
  async function notesOf(change: () => Promise<unknown>): Promise<string[]> {
    const feed = createAuthChanges(sql);
    const { cursor } = await feed.since(null);
    await change();
    return (await feed.since(cursor)).changes.map(({ kind, subject }) => `${kind} ${subject}`).sort();
  }
  const addKeys = (teamId: string, userId: string, count: number) => sql`
    insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4)
    select 'key_' || ${teamId}::text || n, ${teamId}, ${userId}, 'l', 'live', 'member',
      sha256(convert_to(${teamId} || n, 'UTF8')), 'p', '1234'
    from generate_series(1, ${count}) n`;
  const addSessions = (teamId: string, userId: string, count: number, expiresAt: Date) => sql`
    insert into sessions (id, hash, user_id, team_id, expires_at)
    select 'ses_' || ${teamId}::text || n, sha256(convert_to('s' || ${teamId} || n, 'UTF8')), ${userId}, ${teamId}, ${expiresAt}
    from generate_series(1, ${count}) n`;
  const TOMORROW = new Date(Date.now() + 86_400_000);

  it("many credentials of a team by one note of it, few of another one by one", async () => {
    const [many, few] = [await newTeam(sql), await newTeam(sql)];
    // With the two that each team has.
    await addKeys(many.teamId, many.userId, 500);
    await addKeys(few.teamId, few.userId, 8);
    const revoked = () =>
      sql`update api_keys set revoked_at = now() where team_id in (${many.teamId}, ${few.teamId})`;
    const notes = await notesOf(revoked);
    assert.equal(notes.length, 11);
    assert.equal(notes.filter((note) => note.startsWith("credential ")).length, 10);
    assert.equal(notes.at(-1), `team ${many.teamId}`);
    const deleted = () => sql`delete from api_keys where team_id in (${many.teamId}, ${few.teamId})`;
    assert.deepEqual(await notesOf(deleted), notes);
  });

  it("many sessions of a user by a note of each team, and none that has expired", async () => {
    const { teamId, userId } = await newTeam(sql);
    await addSessions(teamId, userId, 100, TOMORROW);
    const end = () => sql`delete from sessions where user_id = ${userId}`;
    assert.deepEqual(await notesOf(end), [`team ${teamId}`]);
    await addSessions(teamId, userId, 2_000, new Date(Date.now() - 1_000));
    assert.deepEqual(await notesOf(end), []);
  });

  it("a member's removal with all keys and sessions by one note", async () => {
    const { teamId, userId } = await newTeam(sql);
    await addKeys(teamId, userId, 498);
    await addSessions(teamId, userId, 99, TOMORROW);
    const noted = await sql.begin(async (tx) => {
      await deleteMember(tx, teamId, userId);
      return readOwnChanges(tx);
    });
    assert.deepEqual(noted, [{ kind: "team", subject: teamId }]);
  });

  it("a large blocklist that goes with its team by one line, not ten thousand", async () => {
    const { teamId } = await newTeam(sql);
    await sql`insert into blocklist (team_id, domain) select ${teamId}, 'd' || i || '.test' from generate_series(1, 5000) i`;
    const feed = createAuthChanges(sql);
    const { cursor } = await feed.since(null);
    await sql`delete from teams where id = ${teamId}`;
    const page = await feed.since(cursor);
    assert.equal(page.overflow, false);
    assert.ok(page.changes.length < 10, `${page.changes.length} changes`);
  });
});
