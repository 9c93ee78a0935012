import { LIMITS } from "../core/limits.ts";
import type { Queryable } from "./postgres.ts";

/** SQL of the end of tasks: of a large job they are too many for one statement. */

/**
 * Takes what is left to do of a job that ends, or has ended, out of all lines, LIMITS.bulk.tasksPerStatement of it: nobody
 * else would. Its chunks stay, as done: rows of theirs may copy one that is answered. True: nothing is left.
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

/** Ended jobs of which that was too much to be done at once. */
export async function jobsWithTasksLeft(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs where tasks_left order by completed_at limit ${limit}`;
  return rows.map(({ id }) => id);
}

export async function noteTasksCleared(sql: Queryable, jobId: string): Promise<void> {
  await sql`update jobs set tasks_left = false where id = ${jobId}`;
}

/** Deletes a job with its tasks: those in pieces, since one statement for all of a large one would run out of time. */
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
