/**
 * Data of a team outside the database: its Stripe customer and subscription, its objects, and the buckets of others that it
 * may read. A removal records the objects, which are deleted after the team. (Billing handles the subscription, by a note
 * of the same transaction: see migration 10.)
 */
export const teamRemoval = `
alter table teams
  add column stripe_customer_id text unique,
  add column stripe_subscription_id text unique;

-- Written in the transaction that deletes the team, hence no foreign key. Goes when all is done.
create table team_removals (
  team_id text primary key,
  -- Sweeps that left no object: one at once, one late.
  sweeps_done smallint not null default 0,
  -- In a row.
  failures integer not null default 0,
  -- Moved ahead by whoever takes it, so that it is a lease too.
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create index team_removals_due on team_removals (due_at);

-- Buckets, and prefixes in them, that the operator lets a team read bulk sources from. An empty prefix is the whole bucket.
create table s3_grants (
  team_id text not null references teams (id) on delete cascade,
  bucket text not null check (length(bucket) between 3 and 63),
  prefix text not null check (octet_length(prefix) <= 1024),
  created_at timestamptz not null default now(),
  primary key (team_id, bucket, prefix)
);

-- A team's deletion is to find its events without reading all.
create index events_team on events (team_id);
`;
