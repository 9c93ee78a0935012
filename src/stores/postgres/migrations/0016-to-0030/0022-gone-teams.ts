/**
 * Deleting a team leaves one note, of the team, which makes all its credentials stale. Additional notes of each of its keys
 * and sessions were more than a process reads at once (LIMITS.keys.changesPerPoll) for a team with five members of a
 * hundred sessions, and every process then dropped its cache of all teams.
 */
export const goneTeams = `
create or replace function note_credentials_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select 'credential', encode(o.hash, 'hex') from old_rows o join teams t on t.id = o.team_id;
  return null;
end $$;
`;
