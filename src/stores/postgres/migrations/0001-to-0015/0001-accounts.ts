/**
 * Teams, users, memberships, credentials, blocklist, and the feed of changes that credential caches follow. Secrets are
 * stored as SHA-256 only. Everything a team owns names the team and is deleted with it.
 */
export const accounts = `
create table teams (
  id text primary key,
  name text not null check (length(name) between 1 and 200),
  tier text not null check (tier in ('free', 'starter', 'pro', 'pro_plus', 'enterprise')),
  -- The operator's overrides of the tier's limits, by the names of TierLimits.
  limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  created_at timestamptz not null default now()
);

create table users (
  id text primary key,
  email text not null check (length(email) between 3 and 320),
  -- null: the account was made by the operator and has no password yet.
  password_hash text,
  created_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));

create table memberships (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('member', 'admin', 'owner')),
  created_at timestamptz not null default now(),
  primary key (team_id, user_id)
);
create index memberships_user on memberships (user_id);

create table api_keys (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  -- null: its user has left; such a key verifies and reads, nothing else.
  user_id text references users (id) on delete set null,
  label text not null check (length(label) between 1 and 200),
  env text not null check (env in ('live', 'test')),
  role text not null check (role in ('member', 'admin', 'owner')),
  hash bytea not null unique check (length(hash) = 32),
  prefix text not null,
  last4 text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_team on api_keys (team_id, id);

create table sessions (
  id text primary key,
  hash bytea not null unique check (length(hash) = 32),
  user_id text not null references users (id) on delete cascade,
  team_id text not null references teams (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_user on sessions (user_id);
create index sessions_team on sessions (team_id);
create index sessions_expiry on sessions (expires_at);

create table blocklist (
  team_id text not null references teams (id) on delete cascade,
  -- A-label, lower case, no trailing dot.
  domain text not null check (length(domain) between 1 and 253),
  include_subdomains boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (team_id, domain)
);

-- One row for each change to what a cached credential says, written in the transaction of the change. Readers go by
-- xid, not by seq: numbers of a sequence are drawn long before they are committed, in another order.
create table auth_changes (
  seq bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  kind text not null check (kind in ('credential', 'team')),
  subject text not null,
  created_at timestamptz not null default now()
);
create index auth_changes_xid on auth_changes (xid);
create index auth_changes_age on auth_changes (created_at);
`;
