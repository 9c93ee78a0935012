import type { Database } from "../../src/stores/postgres/postgres.ts";
import { InvalidRun } from "../report/figures.ts";

/** Times until the rows of jobs were answered, from the moment the first could be started. */
export interface Watched {
  tookMs: number;
  /** The same for the last row that does not wait for the site `apart`. */
  othersMs: number;
  /** Rows that were put off, each time counted. */
  putOff: number;
}

interface Look {
  jobs: number;
  answered: number;
  left: number;
  others_left: number;
  put_off: number;
}

export interface WatchOptions {
  /** The site whose retries are not waited for in `othersMs`. */
  apart?: string;
  onLook?: (elapsedMs: number, look: Look) => void;
}

/** A look reads all tasks of the jobs: twenty a second were 2 % of a core. */
const LOOK_EVERY_MS = 100;
const STALLED_MS = 120_000;

/**
 * Reads the state in one statement: the rows that a chunk defers appear at the moment it is done. Rows that wait one by
 * one for several sites count with the others.
 */
async function lookAt(sql: Database, jobIds: readonly string[], apart: string): Promise<Look> {
  const [look] = await sql<[Look]>`
    select count(distinct job_id) filter (where kind = 'chunk')::int as jobs,
      coalesce(sum(valid + invalid + risky + unknown), 0)::int as answered,
      count(*) filter (where kind in ('chunk', 'retry') and state <> 'done')::int as left,
      count(*) filter (where state <> 'done' and (kind = 'chunk' or (kind = 'retry' and site <> ${apart})))::int
        as others_left,
      coalesce(sum(row_count) filter (where kind = 'retry'), 0)::int as put_off
    from job_tasks where job_id in ${sql(jobIds)}`;
  return look;
}

/**
 * Follows jobs from their first chunk to their last shard, to measure the checks of rows without the reading of the list.
 * @throws InvalidRun when nothing goes on any more
 */
export async function watchJobs(
  sql: Database,
  jobIds: readonly string[],
  { apart = "", onLook = () => {} }: WatchOptions = {},
): Promise<Watched> {
  let startedMs: number | null = null;
  let othersMs: number | null = null;
  let moved = { atMs: performance.now(), answered: -1 };
  for (;;) {
    const look = await lookAt(sql, jobIds, apart);
    const nowMs = performance.now();
    if (look.answered !== moved.answered) moved = { atMs: nowMs, answered: look.answered };
    if (nowMs - moved.atMs > STALLED_MS)
      throw new InvalidRun(`jobs hang: ${look.answered} rows are answered, ${look.left} tasks are left`);
    if (look.jobs > 0) {
      startedMs ??= nowMs;
      const tookMs = nowMs - startedMs;
      onLook(tookMs, look);
      if (look.jobs === jobIds.length && look.others_left === 0) othersMs ??= tookMs;
      if (look.jobs === jobIds.length && look.left === 0)
        return { tookMs, othersMs: othersMs ?? tookMs, putOff: look.put_off };
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
