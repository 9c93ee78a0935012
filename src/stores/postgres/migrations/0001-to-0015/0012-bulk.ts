/**
 * Uploads, bulk jobs, their tasks, and the daily quota that jobs hold.
 *
 * A task is one worker's unit of work: the *analysis* of a source, a *chunk* (rows of the source), a *retry* (deferred rows
 * of a chunk), or the *assembly* of the results when all of these are done. `ready` tasks wait to be emitted, or for
 * `due_at`; `emitted` ones are in a Redis stream or with a worker; `done` ones have their shard in object storage. Redis
 * may lose everything: an emitted task that is not in the stream becomes ready again.
 *
 * The ledger's invariant becomes, for a team and a day: settled + granted of all leases + units of all holds <= limit. Lock
 * order of everything here: team, job, day, leases and holds.
 */
export const bulk = `
create table uploads (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  filename text not null,
  object_key text not null,
  -- open: its bytes are awaited.
  status text not null check (status in ('open', 'stored')),
  -- As announced, then as stored; null: not known yet.
  bytes bigint check (bytes >= 0),
  etag text,
  -- Of an upload in parts that has not been completed.
  multipart_id text,
  -- Until then its bytes are taken.
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  -- Not to be seen any more; its object and row go soon.
  removed_at timestamptz
);
create index uploads_team on uploads (team_id, id);
create index uploads_created on uploads (created_at) where removed_at is null;
create index uploads_removed on uploads (removed_at) where removed_at is not null;

create table jobs (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  livemode boolean not null,
  -- submitting: its source is being written; nobody sees it yet.
  status text not null check (status in
    ('submitting', 'queued', 'analyzing', 'processing', 'deferred', 'finalizing', 'completed', 'failed', 'cancelled')),
  -- As its team sees it.
  source jsonb not null check (jsonb_typeof(source) = 'object'),
  upload_id text references uploads (id) on delete set null,
  -- Where the source lies; bucket null: the deployment's own.
  source_bucket text,
  source_key text not null,
  source_etag text,
  source_bytes bigint,
  -- Where the chunks' bytes lie, once the analysis knows: the source, or what it was normalised to.
  rows_bucket text,
  rows_key text,
  rows_etag text,
  -- email_column, has_header, delimiter as they were asked for; escape_formulas.
  options jsonb not null check (jsonb_typeof(options) = 'object'),
  -- SourceLayout, once the analysis knows.
  layout jsonb check (jsonb_typeof(layout) = 'object'),
  -- Of the tier when the job was submitted: the most rows it may have, and the day's units.
  daily_quota bigint not null,
  bulk_bytes bigint not null,
  probing boolean not null,
  with_evidence boolean not null,
  metadata jsonb not null check (jsonb_typeof(metadata) = 'object'),
  webhook_url text,
  -- 0 until the analysis knows.
  rows_total integer not null default 0 check (rows_total >= 0),
  duplicates integer not null default 0 check (duplicates >= 0),
  malformed integer not null default 0 check (malformed >= 0),
  -- The UTC day of the reservation; null: nothing is charged (test keys), or nothing is reserved yet.
  day date,
  -- Sums of what its tasks came to, kept with each that is done: to sum them for each look would read all of them.
  valid integer not null default 0,
  invalid integer not null default 0,
  risky integer not null default 0,
  unknown integer not null default 0,
  charged integer not null default 0,
  -- Rows in retries that are not done.
  deferred integer not null default 0 check (deferred >= 0),
  -- Keys of the assembled results begin so.
  results_key text,
  error_code text,
  error_detail text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  -- What of the job's own source object nobody needs any more is gone.
  source_removed boolean not null default false,
  -- Has ended, and has tasks still that are not done: too many to take out of all lines at once.
  tasks_left boolean not null default false,
  -- Not to be seen any more; objects and row go soon.
  removed_at timestamptz,
  check ((status in ('completed', 'failed', 'cancelled')) = (completed_at is not null)),
  check ((error_code is null) = (error_detail is null))
);
create index jobs_team on jobs (team_id, id);
create index jobs_upload on jobs (upload_id) where upload_id is not null;
create index jobs_active on jobs (id) where completed_at is null and removed_at is null;
create index jobs_ended on jobs (completed_at) where completed_at is not null;
create index jobs_ended_with_source on jobs (completed_at) where completed_at is not null and not source_removed;
create index jobs_tasks_left on jobs (completed_at) where tasks_left;
create index jobs_removed on jobs (removed_at) where removed_at is not null;

create table job_tasks (
  job_id text not null references jobs (id) on delete cascade,
  -- -1: the analysis; the chunks from 0; then retries; then the assembly.
  number integer not null,
  kind text not null check (kind in ('analysis', 'chunk', 'retry', 'assembly')),
  -- Of the job's rows, counted from 0, and of the bytes of its source. Of a retry: those of its chunk, but row_count is
  -- the number of its own rows.
  first_row integer not null default 0,
  row_count integer not null default 0,
  first_byte bigint not null default 0,
  byte_count bigint not null default 0,
  -- Where the chunk's repeats stand in the job's index of repeats; no bytes: it has none.
  repeats_byte bigint not null default 0,
  repeats_bytes integer not null default 0,
  -- Of a retry: its chunk, and which of the chunk's rows it has, a bit a row.
  chunk integer,
  row_set bytea,
  -- Of a retry: whom its rows wait for, by whom they are to be asked, why, since when, and how often they have waited.
  -- site '': rows of several, or not known yet.
  site text not null default '',
  egress text not null default '',
  reason text,
  deferred_at timestamptz,
  attempts integer not null default 0,
  due_at timestamptz,
  state text not null default 'ready' check (state in ('ready', 'emitted', 'done')),
  emitted_at timestamptz,
  -- How often a worker began it and did not say why it stopped.
  deliveries integer not null default 0,
  -- Key of the shard that counts: another worker may have written one too.
  shard_key text,
  -- Rows by verdict, those that copy one of them included, wherever they stand; and units to charge.
  valid integer not null default 0,
  invalid integer not null default 0,
  risky integer not null default 0,
  unknown integer not null default 0,
  charged integer not null default 0,
  primary key (job_id, number),
  check ((state = 'emitted') = (emitted_at is not null)),
  check ((kind = 'retry') = (chunk is not null and row_set is not null and due_at is not null))
);
-- For the autoscaler's count, and the moment until which rows wait.
create index job_tasks_outstanding on job_tasks (job_id, due_at) where state <> 'done';
create index job_tasks_ready on job_tasks (job_id, number) where state = 'ready' and kind <> 'retry';
create index job_tasks_emitted on job_tasks (job_id, number) where state = 'emitted';
create index job_tasks_emitted_retries on job_tasks (egress, site) where state = 'emitted' and kind = 'retry';
create index job_tasks_retries on job_tasks (egress, site, job_id, due_at) where state = 'ready' and kind = 'retry';
create index job_tasks_patches on job_tasks (job_id, chunk) where kind = 'retry';

create table quota_holds (
  job_id text primary key references jobs (id) on delete cascade,
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  units bigint not null check (units >= 0)
);
create index quota_holds_day on quota_holds (team_id, day);

-- As in migration 2, with what jobs hold taken off what is left.
create or replace function quota_lease(
  p_id uuid, p_team text, p_limit bigint, p_want integer, p_share integer, p_tranche_max integer, p_ttl interval,
  out granted integer, out tranche integer, out ms_to_midnight double precision, out used bigint
) language plpgsql as $$
declare
  v_at timestamp := clock_timestamp() at time zone 'utc';
  v_day date := v_at::date;
  v_settled bigint;
  v_out bigint;
  v_held bigint;
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
  select coalesce(sum(h.units), 0) into v_held from quota_holds h where team_id = p_team and day = v_day;
  used := coalesce(v_settled, 0) + used + v_held;
  v_left := p_limit - coalesce(v_settled, p_limit) - v_out - v_held;
  granted := greatest(0, least(p_want, v_left, greatest(1, v_left / p_share)));
  -- Half of the lease, but all of a tiny one: a flush a unit would cost more than the units.
  tranche := least(p_tranche_max, greatest(least(granted, 4), granted / 2));
  if granted > 0 then
    insert into quota_leases (id, team_id, day, granted, tranche, expires_at)
    values (p_id, p_team, v_day, granted, tranche, clock_timestamp() + p_ttl);
  end if;
end $$;

-- Holds p_units of the present day for a job, all or none. available: what was left of the day; unspent: what leases
-- have and may bring back soon. day is null when the team is gone.
create function quota_hold(
  p_job text, p_team text, p_limit bigint, p_units bigint,
  out held boolean, out day date, out available bigint, out unspent bigint, out ms_to_midnight double precision
) language plpgsql as $$
declare
  v_at timestamp := clock_timestamp() at time zone 'utc';
  v_day date := v_at::date;
  v_settled bigint;
  v_leased bigint;
  v_held bigint;
begin
  ms_to_midnight := extract(epoch from (v_day + 1)::timestamp - v_at) * 1000;
  insert into quota_days (team_id, day) select id, v_day from teams where id = p_team
    on conflict do nothing;
  perform from quota_days d where d.team_id = p_team and d.day = v_day for update;
  perform quota_settle_expired(p_team, v_day);
  select d.used, d.day into v_settled, day from quota_days d where d.team_id = p_team and d.day = v_day;
  select coalesce(sum(l.granted), 0), coalesce(sum(l.granted - l.spent), 0) into v_leased, unspent
    from quota_leases l where l.team_id = p_team and l.day = v_day;
  select coalesce(sum(h.units), 0) into v_held from quota_holds h where h.team_id = p_team and h.day = v_day;
  available := greatest(0, p_limit - coalesce(v_settled, p_limit) - v_leased - v_held);
  held := day is not null and p_units <= available;
  if held then
    insert into quota_holds (job_id, team_id, day, units) values (p_job, p_team, v_day, p_units);
  end if;
end $$;

-- Ends a hold: p_charged of its units are used, the rest is there again. Nothing for a job that holds nothing.
create function quota_settle_hold(p_job text, p_charged bigint) returns void language plpgsql as $$
declare
  v_hold quota_holds;
begin
  select * into v_hold from quota_holds where job_id = p_job;
  if not found then return; end if;
  perform from quota_days where team_id = v_hold.team_id and day = v_hold.day for update;
  delete from quota_holds where job_id = p_job;
  if found then
    update quota_days set used = used + least(p_charged, v_hold.units)
    where team_id = v_hold.team_id and day = v_hold.day;
  end if;
end $$;
`;
