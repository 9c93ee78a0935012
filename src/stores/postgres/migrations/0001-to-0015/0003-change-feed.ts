/**
 * The database itself writes each change to the data of a cached credential to the feed (`auth_changes`), in the same
 * transaction. So it covers services, the operator's commands, hand-written SQL and cascades alike. A trigger runs once for
 * each statement, not for each row: deleting a team with ten thousand entries leaves a handful of notes.
 */
export const changeFeed = `
create function note_teams_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select 'team', n.id from new_rows n join old_rows o using (id)
  where (n.tier, n.limits) is distinct from (o.tier, o.limits);
  return null;
end $$;

create function note_teams_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select 'team', id from old_rows;
  return null;
end $$;

-- For tables whose rows belong to a team by team_id.
create function note_team_of_old() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select distinct 'team', team_id from old_rows;
  return null;
end $$;

create function note_team_of_new() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select distinct 'team', team_id from new_rows;
  return null;
end $$;

-- For tables of credentials, by hash.
create function note_credentials_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select 'credential', encode(hash, 'hex') from old_rows;
  return null;
end $$;

create function note_keys_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select 'credential', encode(o.hash, 'hex') from new_rows n join old_rows o using (id)
  where (n.revoked_at, n.role, n.user_id) is distinct from (o.revoked_at, o.role, o.user_id);
  return null;
end $$;

create function note_sessions_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select 'credential', encode(o.hash, 'hex') from new_rows n join old_rows o using (id)
  where (n.expires_at, n.team_id, n.hash) is distinct from (o.expires_at, o.team_id, o.hash);
  return null;
end $$;

create trigger teams_updated after update on teams
  referencing old table as old_rows new table as new_rows for each statement execute function note_teams_updated();
create trigger teams_gone after delete on teams
  referencing old table as old_rows for each statement execute function note_teams_gone();

create trigger memberships_made after insert on memberships
  referencing new table as new_rows for each statement execute function note_team_of_new();
create trigger memberships_updated after update on memberships
  referencing new table as new_rows for each statement execute function note_team_of_new();
create trigger memberships_gone after delete on memberships
  referencing old table as old_rows for each statement execute function note_team_of_old();

create trigger api_keys_updated after update on api_keys
  referencing old table as old_rows new table as new_rows for each statement execute function note_keys_updated();
create trigger api_keys_gone after delete on api_keys
  referencing old table as old_rows for each statement execute function note_credentials_gone();

create trigger sessions_updated after update on sessions
  referencing old table as old_rows new table as new_rows for each statement execute function note_sessions_updated();
create trigger sessions_gone after delete on sessions
  referencing old table as old_rows for each statement execute function note_credentials_gone();

create trigger blocklist_made after insert on blocklist
  referencing new table as new_rows for each statement execute function note_team_of_new();
create trigger blocklist_updated after update on blocklist
  referencing new table as new_rows for each statement execute function note_team_of_new();
create trigger blocklist_gone after delete on blocklist
  referencing old table as old_rows for each statement execute function note_team_of_old();
`;
