/**
 * Changes to a team's blocklist and merged overrides name the domains. A process that holds the lists reads only these
 * again, and keeps the rest of its cache of the team. A change of more than LIMITS.keys.domainsPerNote domains names no
 * domain, which means any. A version that does not know `domains` treats such a note as a change to the team, and drops all
 * it has cached of it.
 */
export const listChanges = `
alter table auth_changes add column domains jsonb;

create function noted_domains(domains jsonb) returns jsonb language sql immutable as $$
  select case when jsonb_array_length(domains) <= 100 then domains else '[]'::jsonb end
$$;

create or replace function note_team_of_old() returns trigger language plpgsql as $$ begin
  if tg_table_name = 'blocklist' then
    insert into auth_changes (kind, subject, domains)
    select 'team', team_id, noted_domains(jsonb_agg(domain)) from old_rows group by team_id;
  else
    insert into auth_changes (kind, subject) select distinct 'team', team_id from old_rows;
  end if;
  return null;
end $$;

-- What an entry said before it was updated is not told to the trigger: any may have changed.
create or replace function note_team_of_new() returns trigger language plpgsql as $$ begin
  if tg_table_name = 'blocklist' then
    insert into auth_changes (kind, subject, domains)
    select 'team', team_id, case tg_op when 'UPDATE' then '[]'::jsonb else noted_domains(jsonb_agg(domain)) end
    from new_rows group by team_id;
  else
    insert into auth_changes (kind, subject) select distinct 'team', team_id from new_rows;
  end if;
  return null;
end $$;

create or replace function note_overrides_made() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject, domains)
  select 'team', team_id, noted_domains(jsonb_agg(domain)) from new_rows where status = 'merged' group by team_id;
  return null;
end $$;

create or replace function note_overrides_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject, domains)
  select 'team', team_id, noted_domains(jsonb_agg(distinct domain)) from (
    select team_id, domain, status from new_rows except select team_id, domain, status from old_rows
    union all
    (select team_id, domain, status from old_rows except select team_id, domain, status from new_rows)
  ) changed
  where status = 'merged'
  group by team_id;
  return null;
end $$;

create or replace function note_overrides_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject, domains)
  select 'team', team_id, noted_domains(jsonb_agg(domain)) from old_rows where status = 'merged' group by team_id;
  return null;
end $$;
`;
