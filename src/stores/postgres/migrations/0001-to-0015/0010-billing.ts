/**
 * Teams' Stripe subscriptions. Stripe is the truth; a row is the latest state from its events and our reads, ordered by
 * Stripe's own seconds (`state_at_s`), as events arrive twice and in any order. `teams.stripe_customer_id` is the team's
 * one customer, `teams.stripe_subscription_id` the subscription that its tier follows.
 */
export const billing = `
create table stripe_events (
  id text primary key,
  type text not null,
  -- Stripe's clock, seconds.
  created_s bigint not null,
  received_at timestamptz not null default now()
);
create index stripe_events_age on stripe_events (received_at);

create table billing_subscriptions (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  status text not null,
  price_id text,
  -- {tier, interval}: what its price last meant while that was for sale, else what it was sold as; null: never known.
  plan jsonb,
  -- Stripe's clock, seconds; of two subscriptions the earlier is kept.
  created_s bigint not null,
  period_end_s bigint,
  cancel_at_period_end boolean not null,
  -- Seconds of Stripe's clock of the event that was last believed.
  state_at_s bigint not null,
  -- Our clock, when the read began that wrote this row; null: never read.
  read_at timestamptz,
  -- Counts the writes.
  revision integer not null default 1
);
create index billing_subscriptions_team on billing_subscriptions (team_id, created_s);

-- Customers whose subscriptions have to be read from Stripe. A row goes when it was done and not asked for again.
create table billing_rereads (
  customer_id text primary key,
  requested integer not null default 1,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  leased_until timestamptz
);
create index billing_rereads_due on billing_rereads (due_at);

-- Who is making a checkout for a team just now: no second one does until this is released, or its lease ends.
create table billing_claims (
  team_id text primary key references teams (id) on delete cascade,
  claim uuid not null,
  leased_until timestamptz not null
);

-- Customers of teams that are gone: whatever they still pay for, or begin to, is cancelled.
create table billing_orphans (
  customer_id text primary key,
  team_id text not null,
  -- What the tier followed: the team's, whatever its price and metadata are by now.
  subscription_id text,
  created_at timestamptz not null default now()
);

create function note_customers_gone() returns trigger language plpgsql as $$ begin
  insert into billing_orphans (customer_id, team_id, subscription_id)
  select stripe_customer_id, id, stripe_subscription_id from old_rows where stripe_customer_id is not null
  on conflict do nothing;
  insert into billing_rereads (customer_id)
  select stripe_customer_id from old_rows where stripe_customer_id is not null
  on conflict (customer_id) do update set requested = billing_rereads.requested + 1, due_at = now();
  return null;
end $$;

create trigger teams_gone_customers after delete on teams
  referencing old table as old_rows for each statement execute function note_customers_gone();
`;
