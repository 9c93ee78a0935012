/**
 * Leases quota for many teams, and releases leases, each in one statement for all. This version does not call it: it may be
 * dropped once no process of an earlier one is left.
 */
export const quotaTogether = `
-- As quota_lease, for the asks ({id, teamId, limit, want, share}, no team twice) of those teams that have a day and that nobody
-- else has locked, or has that day of. Row by row it took Postgres 0.3 ms a team; what is read is read after all are locked.
create function quota_lease_together(p_asks jsonb, p_tranche_max integer, p_ttl interval)
returns table (
  id uuid, granted integer, tranche integer, ms_to_midnight double precision, committed bigint, day date, leases jsonb
) language plpgsql as $$
#variable_conflict use_column
declare
  v_at timestamp := clock_timestamp() at time zone 'utc';
  v_day date := v_at::date;
  v_teams text[];
begin
  with asked as (
    select a."teamId" as team_id from jsonb_to_recordset(p_asks) as a ("teamId" text)
  ),
  free as (
    select d.team_id from asked join teams t on t.id = asked.team_id
      join quota_days d on d.team_id = t.id and d.day = v_day
    order by d.team_id for key share of t skip locked for update of d skip locked
  )
  select array_agg(team_id) into v_teams from free;
  if v_teams is null then return; end if;

  with expired as (
    select l.id from quota_leases l
    where l.team_id = any (v_teams) and l.day = v_day and l.expires_at <= clock_timestamp()
    for update skip locked
  ),
  gone as (
    delete from quota_leases l using expired e where l.id = e.id
    returning l.team_id, least(l.granted, l.spent + l.tranche) as used
  )
  update quota_days d set used = d.used + settled.used
  from (select team_id, sum(used) as used from gone group by team_id) settled
  where d.team_id = settled.team_id and d.day = v_day;

  return query
  with asked as (
    -- What is granted is counted once: a team that came twice would have it twice.
    select distinct on (a."teamId") a.* from jsonb_to_recordset(p_asks)
      as a (id uuid, "teamId" text, "limit" bigint, want integer, share integer)
    where a."teamId" = any (v_teams)
  ),
  known as (
    select a.id, d.team_id, a.want, a.share, d.used + leased.spent + held.units as committed, leased.told,
      a."limit" - d.used - leased.granted - held.units as left_over
    from asked a join quota_days d on d.team_id = a."teamId" and d.day = v_day,
      lateral (
        select coalesce(sum(l.granted), 0) as granted, coalesce(sum(l.spent), 0) as spent,
          coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'spent', l.spent)), '[]') as told
        from quota_leases l where l.team_id = d.team_id and l.day = v_day
      ) leased,
      lateral (
        select coalesce(sum(h.units), 0) as units from quota_holds h where h.team_id = d.team_id and h.day = v_day
      ) held
  ),
  granting as (
    select k.*, greatest(0, least(k.want, k.left_over, greatest(1, div(k.left_over, k.share))))::integer as units
    from known k
  ),
  sized as (
    select g.*, least(p_tranche_max, greatest(least(g.units, 4), g.units / 2)) as untold from granting g
  ),
  made as (
    insert into quota_leases (id, team_id, day, granted, tranche, expires_at)
    select s.id, s.team_id, v_day, s.units, s.untold, clock_timestamp() + p_ttl from sized s where s.units > 0
  )
  select s.id, s.units, s.untold, extract(epoch from (v_day + 1)::timestamp - v_at)::double precision * 1000,
    s.committed::bigint, v_day, s.told
  from sized s;
end $$;

-- As quota_release, for the reports ({id, taken, inFlight, revision}) of those leases whose day nobody else has locked.
create function quota_release_together(p_reports jsonb) returns table (id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_ids uuid[];
begin
  with told as (select r.id from jsonb_to_recordset(p_reports) as r (id uuid)),
  days as (
    select distinct l.team_id, l.day from told join quota_leases l on l.id = told.id
  ),
  free as (
    select d.team_id, d.day from quota_days d join days on days.team_id = d.team_id and days.day = d.day
    order by d.team_id, d.day for update of d skip locked
  )
  select array_agg(l.id) into v_ids
  from told join quota_leases l on l.id = told.id join free on free.team_id = l.team_id and free.day = l.day;
  if v_ids is null then return; end if;

  update quota_leases l set granted = r.taken, spent = r.taken, revision = r.revision
  from jsonb_to_recordset(p_reports) as r (id uuid, taken integer, "inFlight" integer, revision integer)
  where l.id = r.id and l.id = any (v_ids) and r."inFlight" > 0 and l.revision < r.revision;

  with gone as (
    delete from quota_leases l
    using jsonb_to_recordset(p_reports) as r (id uuid, taken integer, "inFlight" integer, revision integer)
    where l.id = r.id and l.id = any (v_ids) and r."inFlight" <= 0
    returning l.team_id, l.day, r.taken
  )
  update quota_days d set used = d.used + spent.taken
  from (select team_id, day, sum(taken) as taken from gone group by team_id, day) spent
  where d.team_id = spent.team_id and d.day = spent.day and spent.taken > 0;

  return query select unnest(v_ids);
end $$;
`;
