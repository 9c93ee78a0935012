/**
 * Finds the days of teams whose limits changed only once. Postgres may run the subselect of an `in (… for update)` again
 * for each day (`npm run layers` checks the service's statements for that).
 */
export const limitsNotedOnce = `
create or replace function note_quota_limits() returns trigger language plpgsql as $$ begin
  with changed as materialized (
    select d.ctid
    from new_rows n join old_rows o using (id) join quota_days d on d.team_id = n.id
    where d.day = (clock_timestamp() at time zone 'utc')::date
      and (n.tier, n.limits) is distinct from (o.tier, o.limits)
    for update of d skip locked
  )
  update quota_days set changed_at = clock_timestamp() where ctid = any (array(select ctid from changed));
  return null;
end $$;
`;
