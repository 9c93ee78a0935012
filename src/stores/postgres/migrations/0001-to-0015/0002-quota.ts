/**
 * The ledger of the daily quota. `quota_days` holds settled units; a lease holds the units of one process. At all times,
 * for a team and a day: settled + granted of all leases <= limit. So the limit holds whatever a process does with its
 * lease, and however it ends.
 *
 * Functions, because a statement of several steps must see what it waited for: inside them each step has a snapshot of its
 * own, taken after the lock. Lock order: the day, then leases. A flush locks only leases of one process; reaping skips
 * locked rows. Hence no deadlock. All times are the database's.
 */
export const quota = `
create table quota_days (
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  used bigint not null default 0 check (used >= 0),
  primary key (team_id, day)
);

create table quota_leases (
  id uuid primary key,
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  granted integer not null check (granted >= 0),
  -- Units taken, as far as the process has told.
  spent integer not null default 0 check (spent >= 0),
  -- Units it may take beyond that before it tells: all counted as used when it dies.
  tranche integer not null check (tranche >= 0),
  -- Number of the flush that wrote last: one that arrives late changes nothing.
  revision integer not null default 0,
  expires_at timestamptz not null
);
create index quota_leases_day on quota_leases (team_id, day);
create index quota_leases_expiry on quota_leases (expires_at);

-- Settles the expired leases of a team and day. The caller holds the day's row lock.
create function quota_settle_expired(p_team text, p_day date) returns void language sql as $$
  with expired as (
    select id from quota_leases
    where team_id = p_team and day = p_day and expires_at <= clock_timestamp()
    for update skip locked
  ), gone as (
    delete from quota_leases l using expired e where l.id = e.id
    returning least(l.granted, l.spent + l.tranche) as used
  )
  update quota_days set used = used + (select coalesce(sum(gone.used), 0) from gone)
  where team_id = p_team and day = p_day and exists (select from gone);
$$;

-- Takes a lease of at most p_want units; granted is 0 when nothing is left, or the team is gone.
-- used: settled and told, of the whole team.
create function quota_lease(
  p_id uuid, p_team text, p_limit bigint, p_want integer, p_share integer, p_tranche_max integer, p_ttl interval,
  out granted integer, out tranche integer, out ms_to_midnight double precision, out used bigint
) language plpgsql as $$
declare
  v_at timestamp := clock_timestamp() at time zone 'utc';
  v_day date := v_at::date;
  v_settled bigint;
  v_out bigint;
  v_left bigint;
begin
  ms_to_midnight := extract(epoch from (v_day + 1)::timestamp - v_at) * 1000;
  insert into quota_days (team_id, day) select id, v_day from teams where id = p_team
    on conflict do nothing;
  perform from quota_days where team_id = p_team and day = v_day for update;
  perform quota_settle_expired(p_team, v_day);
  select d.used into v_settled from quota_days d where team_id = p_team and day = v_day;
  select coalesce(sum(l.granted), 0), coalesce(sum(l.spent), 0) into v_out, used
    from quota_leases l where team_id = p_team and day = v_day;
  used := coalesce(v_settled, 0) + used;
  v_left := p_limit - coalesce(v_settled, p_limit) - v_out;
  granted := greatest(0, least(p_want, v_left, greatest(1, v_left / p_share)));
  -- Half of the lease, but all of a tiny one: a flush a unit would cost more than the units.
  tranche := least(p_tranche_max, greatest(least(granted, 4), granted / 2));
  if granted > 0 then
    insert into quota_leases (id, team_id, day, granted, tranche, expires_at)
    values (p_id, p_team, v_day, granted, tranche, clock_timestamp() + p_ttl);
  end if;
end $$;

-- Gives back what a lease has not taken. With units still in flight it stays, shrunk to what was taken.
create function quota_release(p_id uuid, p_taken integer, p_in_flight integer, p_revision integer)
returns void language plpgsql as $$
declare
  v_team text;
  v_day date;
begin
  select team_id, day into v_team, v_day from quota_leases where id = p_id;
  if not found then return; end if;
  perform from quota_days where team_id = v_team and day = v_day for update;
  if p_in_flight > 0 then
    update quota_leases set granted = p_taken, spent = p_taken, revision = p_revision
    where id = p_id and revision < p_revision;
    return;
  end if;
  delete from quota_leases where id = p_id;
  if found then
    update quota_days set used = used + p_taken where team_id = v_team and day = v_day;
  end if;
end $$;

-- Settles the expired leases of up to p_max team days; how many there were.
create function quota_reap(p_max integer) returns integer language plpgsql as $$
declare
  v_due record;
  v_count integer := 0;
begin
  for v_due in
    select distinct team_id, day from quota_leases where expires_at <= clock_timestamp()
    order by team_id, day limit p_max
  loop
    perform from quota_days where team_id = v_due.team_id and day = v_due.day for update;
    perform quota_settle_expired(v_due.team_id, v_due.day);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
`;
