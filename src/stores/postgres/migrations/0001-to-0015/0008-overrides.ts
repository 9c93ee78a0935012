/**
 * Domains that owners mark as disposable for their team, and those that the operator marks for all teams. Cached
 * credentials contain their team's merged overrides. So adding or removing a merged row is a change to the team; a pending
 * row changes nothing yet. A change to the promoted rows is recorded as a change to `lists`, and every process then reads
 * them again.
 */
export const overrides = `
create table disposable_overrides (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  -- A-label, lower case, no trailing dot.
  domain text not null check (length(domain) between 1 and 253),
  status text not null default 'pending' check (status in ('pending', 'merged')),
  -- Id of the user; no reference: it stays true when they have left.
  submitted_by text,
  created_at timestamptz not null default now(),
  merged_at timestamptz,
  unique (team_id, domain),
  check ((status = 'merged') = (merged_at is not null))
);
create index disposable_overrides_listed on disposable_overrides (team_id, id);
create index disposable_overrides_pending on disposable_overrides (team_id, id) where status = 'pending';
-- What the operator is shown: the same domain of many teams.
create index disposable_overrides_domain on disposable_overrides (domain) where status = 'merged';

create table promoted_disposables (
  domain text primary key check (length(domain) between 1 and 253),
  promoted_at timestamptz not null default now()
);

alter table auth_changes drop constraint auth_changes_kind_check;
alter table auth_changes add constraint auth_changes_kind_check check (kind in ('credential', 'team', 'lists'));

create function note_overrides_made() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select distinct 'team', team_id from new_rows where status = 'merged';
  return null;
end $$;

create function note_overrides_updated() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject)
  select distinct 'team', team_id from (
    select team_id, domain, status from new_rows except select team_id, domain, status from old_rows
    union all
    (select team_id, domain, status from old_rows except select team_id, domain, status from new_rows)
  ) changed
  where status = 'merged';
  return null;
end $$;

create function note_overrides_gone() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) select distinct 'team', team_id from old_rows where status = 'merged';
  return null;
end $$;

create function note_promoted_changed() returns trigger language plpgsql as $$ begin
  insert into auth_changes (kind, subject) values ('lists', 'disposable');
  return null;
end $$;

create trigger disposable_overrides_made after insert on disposable_overrides
  referencing new table as new_rows for each statement execute function note_overrides_made();
create trigger disposable_overrides_updated after update on disposable_overrides
  referencing old table as old_rows new table as new_rows for each statement execute function note_overrides_updated();
create trigger disposable_overrides_gone after delete on disposable_overrides
  referencing old table as old_rows for each statement execute function note_overrides_gone();
create trigger promoted_disposables_changed after insert or update or delete or truncate on promoted_disposables
  for each statement execute function note_promoted_changed();
`;
