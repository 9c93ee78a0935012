import { LIMITS } from "../../../config/limits/limits.ts";
import type { Queryable } from "../../../stores/postgres/postgres.ts";

/** SQL that ends tasks: a large job has too many for one statement. */

/**
 * Removes open tasks of a job that ends, or has ended, from all queues, LIMITS.bulk.tasksPerStatement at a time. No other
 * code removes them. Its chunks remain, as done: their rows may copy an answered row. True: no task is left.
 */
export async function clearTasks(sql: Queryable, jobId: string): Promise<boolean> {
  const { tasksPerStatement } = LIMITS.bulk;
  await sql`
    with taken as materialized (
      select ctid from job_tasks where job_id = ${jobId} and state <> 'done' and kind = 'retry'
      order by number limit ${tasksPerStatement} for update
    )
    delete from job_tasks where ctid = any (array(select ctid from taken))`;
  await sql`
    with taken as materialized (
      select ctid from job_tasks where job_id = ${jobId} and state <> 'done' and kind <> 'retry'
      order by number limit ${tasksPerStatement} for update
    )
    update job_tasks set state = 'done', emitted_at = null
    where ctid = any (array(select ctid from taken))`;
  const left = await sql`select from job_tasks where job_id = ${jobId} and state <> 'done' limit 1`;
  return left.length === 0;
}

/** Ended jobs that still have tasks to clear. */
export async function jobsWithTasksLeft(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs where tasks_left order by completed_at limit ${limit}`;
  return rows.map(({ id }) => id);
}

export async function noteTasksCleared(sql: Queryable, jobId: string): Promise<void> {
  await sql`update jobs set tasks_left = false where id = ${jobId}`;
}

/** Deletes a job and its tasks, the tasks in batches: one statement for a large job would run out of time. */
export async function deleteJob(sql: Queryable, id: string): Promise<void> {
  const { tasksPerStatement } = LIMITS.bulk;
  let deleted: number = tasksPerStatement;
  while (deleted === tasksPerStatement)
    ({ count: deleted } = await sql`
      with taken as materialized (
        select ctid from job_tasks where job_id = ${id} order by number limit ${tasksPerStatement} for update
      )
      delete from job_tasks where ctid = any (array(select ctid from taken))`);
  await sql`delete from jobs where id = ${id}`;
}
