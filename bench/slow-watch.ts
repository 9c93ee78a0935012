import type { Database } from "../src/store/postgres.ts";
import { InvalidRun } from "./figures.ts";
import { CAPPED_SITE } from "./slow-list.ts";

/** When the rows of a job were answered, from the moment its rows could be begun. Milliseconds. */
export interface Answered {
  /** The last row that does not wait for the capped provider. */
  othersMs: number;
  allMs: number;
  /** Rows that were put off, each time counted. */
  deferrals: number;
}

interface Progress {
  chunks: number;
  chunks_left: number;
  others_left: number;
  left: number;
  answered: number;
  deferrals: number;
}

const LOOK_EVERY_MS = 100;
const STALLED_MS = 300_000;

/**
 * What is true of a job at one moment: what a chunk puts off is there in the moment it is done. Rows that wait one by one
 * for several sites count with the others, even if the provider is among them.
 */
async function lookAt(sql: Database, jobId: string): Promise<Progress> {
  const [progress] = await sql<[Progress]>`
    select count(*) filter (where kind = 'chunk')::int as chunks,
      count(*) filter (where kind = 'chunk' and state <> 'done')::int as chunks_left,
      count(*) filter (where kind = 'retry' and site <> ${CAPPED_SITE} and state <> 'done')::int as others_left,
      count(*) filter (where kind in ('chunk', 'retry') and state <> 'done')::int as left,
      coalesce(sum(valid + invalid + risky + unknown), 0)::int as answered,
      coalesce(sum(row_count) filter (where kind = 'retry'), 0)::int as deferrals
    from job_tasks where job_id = ${jobId}`;
  return progress;
}

/** Follows a job until its last row is answered. @throws InvalidRun when nothing goes on any more */
export async function watchRows(
  sql: Database,
  jobId: string,
  onLook: (elapsedMs: number, progress: Progress) => void,
): Promise<Answered> {
  let startedMs: number | null = null;
  let othersMs: number | null = null;
  let moved = { at: performance.now(), answered: -1 };
  for (;;) {
    const progress = await lookAt(sql, jobId);
    const nowMs = performance.now();
    if (progress.answered !== moved.answered) moved = { at: nowMs, answered: progress.answered };
    if (nowMs - moved.at > STALLED_MS) throw new InvalidRun(`job ${jobId} hangs: ${progress.answered} rows`);
    if (progress.chunks > 0) {
      startedMs ??= nowMs;
      const elapsedMs = nowMs - startedMs;
      onLook(elapsedMs, progress);
      if (progress.chunks_left === 0 && progress.others_left === 0) othersMs ??= elapsedMs;
      if (progress.left === 0)
        return { othersMs: othersMs ?? elapsedMs, allMs: elapsedMs, deferrals: progress.deferrals };
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
