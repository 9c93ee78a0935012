/**
 * Outbound webhooks, their signing secrets (encrypted with SECRETS_KEY) and their deliveries: queue and log in one. A
 * delivery is `pending` until it has `succeeded` or `failed` for good. A relay claims one by moving its `next_attempt_at`
 * on by a lease in the same statement, so that deliveries of a killed relay become due again by themselves. A claim is not
 * an attempt: attempts count once their outcome is recorded.
 *
 * A lane shares the dispatcher's slots: one webhook, or all of a team's own URLs of jobs.
 */
export const webhooks = `
create table webhooks (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  url text not null check (length(url) between 1 and 2000),
  -- Names of event types; null: all, also those to come.
  events jsonb check (events is null or jsonb_typeof(events) = 'array'),
  description text not null,
  secret bytea not null,
  -- The secret before the last rotation: deliveries are signed with both until then.
  old_secret bytea,
  old_secret_until timestamptz,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('gone', 'failing', 'by_user')),
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  last_success_at timestamptz,
  -- Since when every attempt has failed; null: the last one did not, or there was none.
  failing_since timestamptz,
  -- Pings and redeliveries asked for in the hour that began then.
  manual_since timestamptz not null default '-infinity',
  manual_count integer not null default 0,
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((status = 'disabled') = (disabled_at is not null))
);
create index webhooks_team on webhooks (team_id, id);

-- What the URLs are signed with that jobs name themselves.
create table team_webhook_secrets (
  team_id text primary key references teams (id) on delete cascade,
  secret bytea not null,
  created_at timestamptz not null default now(),
  -- Since when every attempt at such a URL has failed.
  failing_since timestamptz
);

-- What a team asked for in the hour that began then. Not with the webhooks: who deletes one gets nothing back.
create table webhook_uses (
  team_id text not null references teams (id) on delete cascade,
  use text not null check (use in ('creation', 'manual')),
  since timestamptz not null default now(),
  count integer not null default 1,
  primary key (team_id, use)
);

create table webhook_deliveries (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  event_id text not null references events (id) on delete cascade,
  -- null: to url, signed with the team's secret.
  webhook_id text references webhooks (id) on delete cascade,
  url text,
  lane text collate "C" not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  attempts integer not null default 0,
  -- Since the last attempt that was written down.
  claims integer not null default 0,
  next_attempt_at timestamptz default now(),
  created_at timestamptz not null default now(),
  last_attempt_at timestamptz,
  response_status integer,
  error text,
  duration_ms integer,
  check ((webhook_id is null) = (url is not null)),
  check ((status = 'pending') = (next_attempt_at is not null))
);
create index webhook_deliveries_due on webhook_deliveries (lane, next_attempt_at) where status = 'pending';
create index webhook_deliveries_log on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_event on webhook_deliveries (event_id);
create index webhook_deliveries_team on webhook_deliveries (team_id);
`;
