import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { type ChangePage, createAuthChanges, recordChange } from "../../../src/store/auth-changes.ts";
import type { Database } from "../../../src/store/postgres.ts";
import { createClosing, openDatabase } from "../../support/store.ts";

let sql: Database;
const closing = createClosing();
before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

const subjects = (page: ChangePage) => page.changes.map((change) => change.subject);

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
  it("starts with nothing and then tells each change", async () => {
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

  it("tells each change once while a transaction stays open, however many they are, and then that one's", async () => {
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
      from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000 as at) later`;
    assert.equal((await changes.since(ahead.cursor)).overflow, true);
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
