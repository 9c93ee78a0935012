import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Fault, findFaults } from "../../../scripts/migrations/rules.ts";
import { MIGRATIONS } from "../../../src/stores/postgres/migrations/index.ts";

/** Number of migrations from before the first deployment. They are exempt from the rules, because they cannot be changed. */
const LANDED = 12;
const EXCEPTIONS: Record<number, string[]> = {
  5: [
    "drops: drop index users_email",
    'builds an index: create unique index users_email on users (lower(email collate "c"))',
  ],
  6: [
    "validates: alter table teams add column stripe_customer_id text unique, add column stripe_s",
    "validates: alter table teams add column stripe_customer_id text unique, add column stripe_s",
    "builds an index: create index events_team on events (team_id)",
    "locks a second table: create index events_team on events (team_id)",
  ],
  7: [
    "rewrites: alter table quota_days add column changed_at timestamptz not null default clock_",
    "builds an index: create index quota_days_changed on quota_days (changed_at, team_id)",
    "locks a second table: create trigger teams_quota_limits after update on teams referencing old table as",
    "locks a second table: create table quota_thresholds ( team_id text not null references teams (id) on d",
  ],
  8: [
    "drops: alter table auth_changes drop constraint auth_changes_kind_check",
    "validates: alter table auth_changes add constraint auth_changes_kind_check check (kind in (",
  ],
};

/** Events, deliveries and jobs are kept for some weeks, about one a job: the tables are small enough to be indexed in a step. */
const ACCEPTED = [
  "30 builds an index: create index events_team_id on events (team_id, id)",
  '31 builds an index: create index events_type on events (team_id, type, id collate "c")',
  '32 builds an index: create index events_test on events (team_id, id collate "c") where not livemode',
  '33 builds an index: create index events_test_type on events (team_id, type, id collate "c") where no',
  "34 builds an index: create index webhook_deliveries_status on webhook_deliveries (webhook_id, status",
  '35 builds an index: create index jobs_test on jobs (team_id, id collate "c") where not livemode',
];

const faults = (sql: string): Fault[] => findFaults(sql).map(({ fault }) => fault);

describe("the migrations", () => {
  it("go together with the code before them from the thirteenth on", () => {
    const found = MIGRATIONS.filter(({ id }) => id > LANDED).flatMap(({ id, sql }) =>
      findFaults(sql).map(({ fault, statement }) => `${id} ${fault}: ${statement}`),
    );
    assert.deepEqual(found, ACCEPTED);
  });

  it("before it are those that were found then", () => {
    const found = MIGRATIONS.filter(({ id }) => id <= LANDED).flatMap(({ id, sql }) => {
      const own = findFaults(sql).map(({ fault, statement }) => `${fault}: ${statement}`);
      return own.length === 0 ? [] : [[id, own] as const];
    });
    assert.deepEqual(Object.fromEntries(found), EXCEPTIONS);
  });
});

describe("a migration", () => {
  const FAULTY: [Fault, string][] = [
    ["drops", "drop table jobs"],
    ["drops", "drop index users_email"],
    ["drops", "alter table jobs drop column layout"],
    ["drops", "alter table jobs drop constraint jobs_status_check"],
    ["renames", "alter table jobs rename column layout to shape"],
    ["renames", "alter table jobs rename to lists"],
    ["renames", "alter index jobs_team rename to jobs_of_team"],
    ["rewrites", "alter table jobs alter column charged type bigint"],
    ["rewrites", "ALTER TABLE jobs ALTER charged SET DATA TYPE bigint"],
    ["rewrites", "alter table jobs add column at timestamptz not null default clock_timestamp()"],
    ["rewrites", "alter table jobs add column twice integer generated always as (charged * 2) stored"],
    ["requires", "alter table jobs add column owner text not null"],
    ["requires", "alter table jobs alter column layout set not null"],
    ["validates", "alter table jobs add constraint few check (rows_total < 10)"],
    ["validates", "alter table jobs add column n integer check (n > 0)"],
    ["validates", "alter table jobs add foreign key (upload_id) references uploads (id)"],
    ["builds an index", "create index jobs_day on jobs (day)"],
    ["builds an index", "create unique index if not exists jobs_day on only jobs (day)"],
    ["changes rows", "update jobs set charged = 0"],
    ["changes rows", "delete from jobs where charged = 0"],
    ["locks", "lock table jobs"],
    ["locks", "truncate jobs"],
  ];
  for (const [fault, sql] of FAULTY)
    it(`${fault}: ${sql}`, () => {
      assert.deepEqual(faults(`create table other (n integer); ${sql};`), [fault]);
    });

  const TWO = [
    "alter table jobs add column a text; alter table uploads add column b text",
    "alter table jobs add column a text; create trigger uploads_made after insert on uploads for each row execute function f()",
    "alter table jobs add column a text; create table fresh (upload text references uploads (id))",
    "alter table jobs add column a text, add constraint x foreign key (upload_id) references uploads (id) not valid",
  ];
  for (const sql of TWO)
    it(`locks a second table: ${sql}`, () => {
      assert.deepEqual(faults(sql), ["locks a second table"]);
    });

  const GOOD = [
    "alter table jobs add column a text; alter table jobs add column b text; create table other (n integer)",
    "create table fresh (job text references jobs (id), upload text references uploads (id)); alter table jobs add column a text",
    "alter table jobs add constraint x foreign key (upload_id) references uploads (id) not valid",
    "alter table jobs add column note text",
    "alter table jobs add column tries integer not null default 0, add column at timestamptz default now()",
    "alter table jobs alter column layout drop not null, alter column charged set default 1",
    "alter table jobs add constraint few check (rows_total < 10) not valid",
    "create table fresh (id text primary key, job text references jobs (id)); create index fresh_job on fresh (job); update fresh set job = null; alter table fresh add constraint x check (id <> '')",
    "create function f() returns trigger language plpgsql as $$ begin drop table jobs; update jobs set n = 1; return new; end $$",
    "insert into settings values ('drop table jobs; truncate jobs')",
    "-- drop table jobs;\n/* truncate jobs; */ select 1",
    "create trigger jobs_made after insert on jobs for each row execute function f()",
  ];
  for (const sql of GOOD)
    it(`may: ${sql.slice(0, 60)}`, () => {
      assert.deepEqual(faults(sql), []);
    });

  it("gets each fault of a statement of several actions", () => {
    const sql = "alter table jobs drop column a, add column b text, add column c numeric(3, 1) not null";
    assert.deepEqual(faults(sql), ["drops", "requires"]);
  });
});
