import type { Database } from "../../stores/postgres/postgres.ts";

/** Roles as their connections to Postgres name them. */
export type SessionRole = "api" | "bulk" | "relay";

export interface DeploymentFacts {
  /** Sessions of each role; null: a pooler hides them. */
  sessions: Record<SessionRole, number> | null;
  /** Unfinished jobs; not counted beyond `JOBS_COUNTED`. */
  unfinishedJobs: number;
  /** Age of the oldest task of an unfinished job in its stream or with a worker; null: none. */
  oldestTaskS: number | null;
  /** Seconds since the oldest due mail became due; null: no mail is due. Below: the same for webhook deliveries. */
  oldestMailS: number | null;
  oldestDeliveryS: number | null;
}

export const JOBS_COUNTED = 1_000;
/** Windows of emission keep far fewer in progress. */
const TASKS_COUNTED = 100_000;

/** Every query uses an index of unfinished rows, and stops at a bound. */
export async function lookAtDeployment(sql: Database): Promise<DeploymentFacts> {
  const seen = await sql<{ role: string; n: number }[]>`
    select substr(application_name, 6) as role, count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name in ('rcpt-api', 'rcpt-bulk', 'rcpt-relay')
    group by 1`;
  const own = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const count = (role: SessionRole) => seen.find((row) => row.role === role)?.n ?? 0;
  const [jobs] = await sql<{ n: number }[]>`
    select count(*)::int as n from (
      select from jobs where completed_at is null and removed_at is null limit ${JOBS_COUNTED}) unfinished`;
  const [task] = await sql<{ s: number | null }[]>`
    select extract(epoch from now() - min(emitted_at))::float8 as s from (
      select t.emitted_at from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and j.completed_at is null and j.removed_at is null
      limit ${TASKS_COUNTED}) emitted`;
  const [mail] = await sql<{ s: number | null }[]>`
    select extract(epoch from now() - min(next_attempt_at))::float8 as s from (
      select next_attempt_at from mail_outbox where next_attempt_at < now() and expires_at > now()
      limit 10000) due`;
  const [delivery] = await sql<{ s: number | null }[]>`
    select extract(epoch from now() - min(next_attempt_at))::float8 as s from (
      select next_attempt_at from webhook_deliveries where status = 'pending' and next_attempt_at < now()
      limit 10000) due`;
  return {
    sessions:
      own.state.pid === own[0]?.pid
        ? { api: count("api"), bulk: count("bulk"), relay: count("relay") }
        : null,
    unfinishedJobs: jobs?.n ?? 0,
    oldestTaskS: task?.s ?? null,
    oldestMailS: mail?.s ?? null,
    oldestDeliveryS: delivery?.s ?? null,
  };
}
