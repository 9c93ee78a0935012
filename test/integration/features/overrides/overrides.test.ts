import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { type AuthChange, createAuthChanges } from "../../../../src/features/auth/auth-changes.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { createTeamDomains } from "../../../../src/features/auth/team-domains.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createMergeOverrides } from "../../../../src/features/overrides/merge.ts";
import { overridePeriodicTasks } from "../../../../src/features/overrides/override-tasks.ts";
import { createOverrides, type Overrides } from "../../../../src/features/overrides/overrides.ts";
import { readDomains } from "../../../../src/features/overrides/read-domains.ts";
import { createRelay } from "../../../../src/platform/periodic/periodic-tasks.ts";
import { countInserts } from "../../../support/count-inserts.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { refuseEvents } from "../../../support/refuse-events.ts";
import { newTeam, ownerOf, silentLog, useDatabase } from "../../../support/store.ts";

let announced: AuthChange[] = [];
const { sql } = await useDatabase();
const publisher = createChangePublisher({
  sql,
  bus: {
    announce: async (change) => {
      announced.push(change);
    },
  },
  log: silentLog,
  invalidate: () => undefined,
});
const overrides = createOverrides({ sql, publisher, readDomains: async (texts) => readDomains(texts) });

interface Owner {
  actor: Actor;
  liveKey: string;
}

async function newOwner(): Promise<Owner> {
  const made = await newTeam(sql);
  return { actor: await ownerOf(sql, made), liveKey: made.liveKey };
}

const FIRST_PAGE = { limit: 100, after: null };
const merge = () => createMergeOverrides({ sql, publisher, log: silentLog })(() => false);
const domainsOf = (count: number, prefix = "d") =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}.test`);

/** The team's overrides as processes read them. */
async function merged({ actor }: Owner): Promise<string[]> {
  const { lists } = await createTeamDomains(sql).page(actor.teamId, { blocklist: null, disposable: "" });
  return lists.disposable.sort();
}

async function eventsOf({ actor }: Owner): Promise<{ count: number; domains: string[] }[]> {
  const rows = await sql<{ data: { count: number; domains: string[] } }[]>`
    select data from events where team_id = ${actor.teamId} and type = 'disposable.merged' order by id`;
  return rows.map(({ data }) => data);
}

describe("a submission", () => {
  it("is normalised, keeps its order, and counts what is sent twice or was there", async () => {
    const { actor } = await newOwner();
    const first = await overrides.submit(actor, ["B.test", "a.test", "b.test.", " a.TEST "]);
    assert.deepEqual([first.accepted, first.duplicates], [2, 2]);
    assert.deepEqual(
      first.data.map(({ domain, status, source, merged_at }) => ({ domain, status, source, merged_at })),
      ["b.test", "a.test"].map((domain) => ({ domain, status: "pending", source: null, merged_at: null })),
    );
    const second = await overrides.submit(actor, ["münchen.test", "a.test"]);
    assert.deepEqual([second.accepted, second.duplicates], [1, 1]);
    assert.deepEqual(
      second.data.map(({ domain }) => domain),
      ["xn--mnchen-3ya.test", "a.test"],
    );
    assert.equal(second.data[1]?.id, first.data[1]?.id);
    assert.equal(await overrides.pending(actor), 3);
  });

  it("with a name that is no domain stores nothing, and says which they were", async () => {
    const { actor } = await newOwner();
    const names = [
      "fine.test",
      "nodots",
      "1.2.3.4",
      "a..b",
      "[::1]",
      "ex ample.test",
      "*.test",
      "\ud800.test",
    ];
    await assert.rejects(
      overrides.submit(actor, names),
      (error: { code: string; errors: { path: string }[] }) => {
        assert.equal(error.code, "validation_failed");
        assert.deepEqual(
          error.errors.map(({ path }) => path),
          names.slice(1).map((_, i) => `domains.${i + 1}`),
        );
        return true;
      },
    );
    assert.deepEqual((await overrides.list(actor, FIRST_PAGE)).data, []);
  });

  it("names no more mistakes than an answer may", async () => {
    const { actor } = await newOwner();
    await assert.rejects(
      overrides.submit(actor, Array(500).fill("nodots")),
      (error: { errors: unknown[] }) => {
        assert.equal(error.errors.length, LIMITS.http.validationIssues);
        return true;
      },
    );
  });

  it("is refused whole beyond the team's bound, exactly, however many come at once", async () => {
    const { actor } = await newOwner();
    const { perTeam } = LIMITS.overrides;
    await sql`
      insert into disposable_overrides (id, team_id, domain)
      select 'ovr_' || n || ${actor.teamId}, ${actor.teamId}, 'full' || n || '.test' from generate_series(1, ${perTeam - 100}) n`;
    const batches = Array.from({ length: 8 }, (_, i) => overrides.submit(actor, domainsOf(30, `batch${i}-`)));
    const outcomes = await Promise.allSettled(batches);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.equal(refused.length, 5);
    for (const { reason } of refused) assert.equal(reason.code, "limit_reached");
    const [row] =
      await sql`select count(*)::int as count from disposable_overrides where team_id = ${actor.teamId}`;
    assert.equal(row?.count, perTeam - 10);
    // Rows that are rolled back cost as much as kept ones.
    const inserts = await countInserts(sql, "disposable_overrides");
    await assert.rejects(overrides.submit(actor, domainsOf(11, "more")), { code: "limit_reached" });
    assert.equal(await inserts(), 0);
    const { accepted, duplicates } = await overrides.submit(actor, ["full1.test", ...domainsOf(10, "more")]);
    assert.deepEqual([accepted, duplicates, await inserts()], [10, 1, 10]);
    assert.equal((await overrides.submit(actor, domainsOf(10, "more"))).duplicates, 10);
    const again = await overrides.submit(actor, ["full1.test"]);
    assert.deepEqual([again.accepted, again.duplicates], [0, 1]);
  });

  it("of the same domains, ten at once, stores each once", async () => {
    const { actor } = await newOwner();
    const all = await Promise.all(Array.from({ length: 10 }, () => overrides.submit(actor, domainsOf(50))));
    assert.equal(
      all.reduce((sum, { accepted }) => sum + accepted, 0),
      50,
    );
    assert.equal(await overrides.pending(actor), 50);
  });

  it("for a deleted team is no fault of ours", async () => {
    const { actor } = await newOwner();
    await sql`delete from teams where id = ${actor.teamId}`;
    await assert.rejects(overrides.submit(actor, ["a.test"]), { code: "unauthorized" });
  });
});

describe("the list", () => {
  it("has every override once over its pages, newest first, and none of another team", async () => {
    const [mine, other] = [await newOwner(), await newOwner()];
    await overrides.submit(mine.actor, domainsOf(25));
    await overrides.submit(other.actor, ["other.test"]);
    const seen: string[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < 10; pages++) {
      const page: Awaited<ReturnType<Overrides["list"]>> = await overrides.list(mine.actor, {
        limit: 10,
        after,
      });
      seen.push(...page.data.map(({ id }) => id));
      if (page.next_cursor === null) break;
      after = Buffer.from(page.next_cursor, "base64url").toString();
    }
    assert.equal(seen.length, 25);
    assert.deepEqual(seen, [...seen].sort().reverse());
  });
});

describe("merging", () => {
  it("is done once, with one event a team, though two relays do it", async () => {
    const teams = await Promise.all(Array.from({ length: 12 }, newOwner));
    for (const { actor } of teams) await overrides.submit(actor, domainsOf(40));
    const clock = createFakeClock();
    const relays = [0, 1].map(() =>
      createRelay({
        tasks: overridePeriodicTasks(createMergeOverrides({ sql, publisher, log: silentLog })),
        clock,
        log: silentLog,
      }),
    );
    for (const relay of relays) await relay.start?.();
    announced = [];
    clock.advance(LIMITS.overrides.mergeEveryMs);
    for (const relay of relays) await relay.drain?.();
    // drain() asks the relays to end early; the remaining changes are merged here.
    await Promise.all([merge(), merge()]);
    for (const team of teams) {
      assert.deepEqual((await merged(team)).sort(), domainsOf(40).sort());
      const events = await eventsOf(team);
      assert.deepEqual(
        events.map(({ count }) => count),
        [40],
      );
      assert.equal(events[0]?.domains.length, LIMITS.overrides.eventDomains);
      assert.equal(await overrides.pending(team.actor), 0);
      assert.equal(announced.filter(({ subject }) => subject === team.actor.teamId).length, 1);
    }
  });

  it("takes a bounded batch of a team at a time, oldest first", async () => {
    const team = await newOwner();
    const { mergeBatch } = LIMITS.overrides;
    await sql`
      insert into disposable_overrides (id, team_id, domain)
      select 'ovr_' || lpad(n::text, 6, '0') || ${team.actor.teamId}, ${team.actor.teamId}, 'm' || n || '.test'
      from generate_series(1, ${mergeBatch + 1}) n`;
    await merge();
    assert.equal(await overrides.pending(team.actor), 1);
    await merge();
    const events = await eventsOf(team);
    assert.deepEqual(
      events.map(({ count }) => count),
      [mergeBatch, 1],
    );
    assert.deepEqual(events[0]?.domains.slice(0, 2), ["m1.test", "m2.test"]);
    assert.deepEqual(events[1]?.domains, [`m${mergeBatch + 1}.test`]);
  });

  it("leaves a team that is being changed for the next interval, and delays no other", async () => {
    const [locked, free] = [await newOwner(), await newOwner()];
    for (const { actor } of [locked, free]) await overrides.submit(actor, ["a.test"]);
    await sql.begin(async (tx) => {
      await tx`select from teams where id = ${locked.actor.teamId} for no key update`;
      await merge();
      assert.deepEqual(await merged(free), ["a.test"]);
      assert.deepEqual(await merged(locked), []);
    });
    await merge();
    assert.deepEqual(await merged(locked), ["a.test"]);
  });

  it("of a team that fails holds up no other team, and is made when it fails no more", async () => {
    const teams = await Promise.all(Array.from({ length: 3 }, newOwner));
    const failing = teams.sort((a, b) => (a.actor.teamId < b.actor.teamId ? -1 : 1))[0] ?? assert.fail();
    for (const { actor } of teams) await overrides.submit(actor, ["a.test"]);
    await refuseEvents(sql, failing.actor.teamId, async () => {
      await merge();
      const expected = teams.map((team) => (team === failing ? [] : ["a.test"]));
      assert.deepEqual(await Promise.all(teams.map(merged)), expected);
    });
    await merge();
    assert.deepEqual(await merged(failing), ["a.test"]);
  });

  it("ends when the relay stops", async () => {
    const { actor } = await newOwner();
    await overrides.submit(actor, ["a.test"]);
    await createMergeOverrides({ sql, publisher, log: silentLog })(() => true);
    assert.equal(await overrides.pending(actor), 1);
  });
});

describe("all at once", () => {
  it("submissions, removals, merges and teams that go end without a deadlock, and with nothing left over", async () => {
    const teams = await Promise.all(Array.from({ length: 6 }, newOwner));
    const doomed = teams.slice(0, 3).map(({ actor }) => actor.teamId);
    const expected = new Set(["not_found", "unauthorized"]);
    const work = teams.flatMap(({ actor }) =>
      Array.from({ length: 8 }, (_, i) => [
        () => overrides.submit(actor, domainsOf(20, `storm${i % 4}-`)),
        () => overrides.remove(actor, `storm${i % 4}-${i}.test`),
        () => merge(),
      ]).flat(),
    );
    const going = work.map((step) => step());
    const deletions = doomed.map((id) => sql`delete from teams where id = ${id}`);
    const outcomes = await Promise.allSettled([...going, ...deletions]);
    const failures = outcomes.filter((outcome) => outcome.status === "rejected").map(({ reason }) => reason);
    assert.deepEqual(
      failures.filter(({ code }) => !expected.has(code)),
      [],
    );
    await merge();
    const [gone] = await sql`
      select count(*)::int as count from disposable_overrides where team_id in ${sql(doomed)}`;
    assert.equal(gone?.count, 0);
    for (const team of teams.slice(3)) {
      const { data } = await overrides.list(team.actor, FIRST_PAGE);
      assert.deepEqual(data.map(({ domain }) => domain).sort(), (await merged(team)).sort());
      const counted = (await eventsOf(team)).reduce((sum, { count }) => sum + count, 0);
      assert.ok(counted >= data.length && data.length >= 72, `${counted} ${data.length}`);
    }
  });
});

describe("the announcements to other processes", () => {
  it("a merge and the removal of what was merged; nothing of what is pending", async () => {
    const team = await newOwner();
    const changes = createAuthChanges(sql);
    let { cursor } = await changes.since(null);
    const told = async () => {
      const page = await changes.since(cursor);
      ({ cursor } = page);
      return page.changes.filter(({ subject }) => subject === team.actor.teamId).length;
    };
    await overrides.submit(team.actor, ["a.test", "b.test", "c.test"]);
    await overrides.remove(team.actor, "C.test.");
    assert.equal(await told(), 0);
    await merge();
    assert.equal(await told(), 1);
    await merge();
    assert.equal(await told(), 0);
    await overrides.remove(team.actor, "a.test");
    assert.equal(await told(), 1);
    assert.deepEqual(await merged(team), ["b.test"]);
    await sql`update disposable_overrides set domain = 'z.test' where team_id = ${team.actor.teamId}`;
    assert.equal(await told(), 1);
  });

  it("of the promoted ones every change, as one to the lists", async () => {
    const changes = createAuthChanges(sql);
    let { cursor } = await changes.since(null);
    for (const statement of [
      () => sql`insert into promoted_disposables (domain) values ('a.test')`,
      () => sql`update promoted_disposables set domain = 'b.test'`,
      () => sql`delete from promoted_disposables`,
      () => sql`truncate promoted_disposables`,
    ]) {
      await statement();
      const page = await changes.since(cursor);
      ({ cursor } = page);
      assert.deepEqual(
        page.changes.map(({ kind, subject }) => `${kind} ${subject}`),
        ["lists disposable"],
      );
    }
  });
});

describe("removing", () => {
  it("takes back this team's only, once, in any spelling", async () => {
    const [mine, other] = [await newOwner(), await newOwner()];
    for (const { actor } of [mine, other]) await overrides.submit(actor, ["münchen.test"]);
    await overrides.remove(mine.actor, "XN--MNCHEN-3YA.test");
    await assert.rejects(overrides.remove(mine.actor, "münchen.test"), { code: "not_found" });
    await assert.rejects(overrides.remove(mine.actor, "no domain"), { code: "not_found" });
    assert.equal(await overrides.pending(other.actor), 1);
  });
});
