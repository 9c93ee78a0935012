/**
 * A statement that changes more than ten credentials of a team leaves one note of the team, which makes all of its credentials
 * stale. Notes of each of the 500 keys of a removed member let three teams exceed what a process reads at once
 * (LIMITS.keys.changesPerPoll): every process then dropped its cache of all teams. The end of a session that has expired is
 * not noted: caches know when a session expires, and a relay deletes thousands of them at once.
 */
export const manyCredentials = `
create or replace function note_credentials_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select distinct case when many then 'team' else 'credential' end, case when many then team_id else encode(hash, 'hex') end
  from (
    select o.team_id, o.hash, count(*) over (partition by o.team_id) > 10 as many
    from old_rows o join teams t on t.id = o.team_id
    -- Keys have no such column.
    where coalesce((to_jsonb(o) ->> 'expires_at')::timestamptz, 'infinity') > now()
  ) gone;
  return null;
end $$;

create or replace function note_keys_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select distinct case when many then 'team' else 'credential' end, case when many then team_id else encode(hash, 'hex') end
  from (
    select o.team_id, o.hash, count(*) over (partition by o.team_id) > 10 as many
    from new_rows n join old_rows o using (id)
    where (n.revoked_at, n.role, n.user_id) is distinct from (o.revoked_at, o.role, o.user_id)
  ) changed;
  return null;
end $$;
`;
