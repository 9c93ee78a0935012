/**
 * Reported use of a team: counters by UTC day, the feed that finds changed days, and the thresholds already announced. The
 * ledger of migration 2 decides and charges; nothing here does.
 */
export const usage = `
-- Answered live verifications of a team and UTC day. single + bulk = valid + invalid + risky + unknown.
create table usage_days (
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  single bigint not null check (single >= 0),
  bulk bigint not null check (bulk >= 0),
  -- Of the single ones, those answered from the cache.
  cached bigint not null check (cached >= 0),
  valid bigint not null check (valid >= 0),
  invalid bigint not null check (invalid >= 0),
  risky bigint not null check (risky >= 0),
  unknown bigint not null check (unknown >= 0),
  primary key (team_id, day)
);
create index usage_days_day on usage_days (day);

-- A process that adds to usage_days, by the number of its last flush: one that comes again changes nothing.
create table usage_writers (
  id uuid primary key,
  revision bigint not null,
  seen_at timestamptz not null
);

-- What was told of each lease of a team and day. Volatile, so that called beside another function in one statement it
-- sees what that one waited for.
create function quota_told(p_team text, p_day date) returns jsonb language sql volatile as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'spent', spent)), '[]')
  from quota_leases where team_id = p_team and day = p_day;
$$;

-- When the settled use of a day last changed: who looks for what changed need not look at every team.
alter table quota_days add column changed_at timestamptz not null default clock_timestamp();
create index quota_days_changed on quota_days (changed_at, team_id);

create function note_quota_used() returns trigger language plpgsql as $$ begin
  new.changed_at := clock_timestamp();
  return new;
end $$;
create trigger quota_days_used before update of used on quota_days
  for each row when (new.used is distinct from old.used) execute function note_quota_used();

-- Another limit makes another share of what is used. Nobody who changes a limit waits for a day: one that is locked is
-- being leased from, and will be settled.
create function note_quota_limits() returns trigger language plpgsql as $$ begin
  update quota_days set changed_at = clock_timestamp()
  where (team_id, day) in (
    select d.team_id, d.day
    from new_rows n join old_rows o using (id) join quota_days d on d.team_id = n.id
    where d.day = (clock_timestamp() at time zone 'utc')::date
      and (n.tier, n.limits) is distinct from (o.tier, o.limits)
    for update of d skip locked
  );
  return null;
end $$;
create trigger teams_quota_limits after update on teams
  referencing old table as old_rows new table as new_rows for each statement execute function note_quota_limits();

-- A share of a day's limit, in percent, that a team was told it had used: once a day each.
create table quota_thresholds (
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  percent integer not null check (percent between 1 and 100),
  created_at timestamptz not null default now(),
  primary key (team_id, day, percent)
);
create index quota_thresholds_day on quota_thresholds (day);
`;
