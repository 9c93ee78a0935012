/**
 * Deleting a team leaves one note, of the team, which makes all its credentials stale. Notes of each key and session
 * exceeded what a process reads at once (LIMITS.keys.changesPerPoll) for five members with a hundred sessions each. Every
 * process then dropped its cache of all teams.
 */
export const goneTeams = `
create or replace function note_credentials_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select 'credential', encode(o.hash, 'hex') from old_rows o join teams t on t.id = o.team_id;
  return null;
end $$;
`;
