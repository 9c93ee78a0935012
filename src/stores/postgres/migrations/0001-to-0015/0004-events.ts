/**
 * Events for a team's webhooks: the outbox. A row is written in the transaction of the change it reports, so that neither
 * exists without the other; the relay fans it out to deliveries.
 */
export const events = `
create table events (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  type text not null check (length(type) between 1 and 100),
  livemode boolean not null,
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  -- One webhook only (ping), or one URL besides the team's webhooks (a job's own).
  only_webhook_id text,
  extra_url text,
  -- When it was written, not when its transaction began: that may be before a webhook was made that hears of it.
  created_at timestamptz not null default clock_timestamp(),
  -- null: not yet fanned out.
  fanned_out_at timestamptz
);
create index events_waiting on events (id) where fanned_out_at is null;
create index events_age on events (created_at);
`;
