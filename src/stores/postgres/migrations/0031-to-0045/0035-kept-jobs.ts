/**
 * How many jobs a team has in each mode, removed ones included until their objects are gone. Kept by the statements that change
 * it, so that a submission need not count them. Writes of jobs wait while the present ones are counted: a second for each
 * million.
 */
export const keptJobs = `
create table job_counts (
  team_id text not null references teams on delete cascade,
  livemode boolean not null,
  kept integer not null,
  primary key (team_id, livemode)
) with (fillfactor = 50);

create function count_made_jobs() returns trigger language plpgsql as $$ begin
  insert into job_counts as c (team_id, livemode, kept)
  select team_id, livemode, count(*) from new_rows group by team_id, livemode order by team_id, livemode
  on conflict (team_id, livemode) do update set kept = c.kept + excluded.kept;
  return null;
end $$;

create function count_deleted_jobs() returns trigger language plpgsql as $$ begin
  update job_counts c set kept = c.kept - gone.jobs
  from (select team_id, livemode, count(*) as jobs from old_rows group by team_id, livemode) gone
  where c.team_id = gone.team_id and c.livemode = gone.livemode;
  return null;
end $$;

create trigger jobs_made after insert on jobs
  referencing new table as new_rows for each statement execute function count_made_jobs();
create trigger jobs_deleted after delete on jobs
  referencing old table as old_rows for each statement execute function count_deleted_jobs();

insert into job_counts (team_id, livemode, kept) select team_id, livemode, count(*) from jobs group by team_id, livemode;
`;
