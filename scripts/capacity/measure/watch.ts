import { InvalidRun } from "../../../bench/figures.ts";
import type { Database } from "../../../src/store/postgres.ts";

const LOOK_EVERY_MS = 50;
const STALLED_MS = 30_000;

export interface Watched {
  tookMs: number;
  /** Rows that were put off, each time counted. */
  putOff: number;
}

/**
 * Follows a job from its first chunk to its last shard: what is measured is rows, not how long it takes to read the list.
 * @throws InvalidRun when nothing goes on any more
 */
export async function watchJob(sql: Database, jobId: string): Promise<Watched> {
  let startedMs: number | null = null;
  let moved = { atMs: performance.now(), answered: -1 };
  for (;;) {
    const [look] = await sql<[{ chunks: number; answered: number; left: number; put_off: number }]>`
      select count(*) filter (where kind = 'chunk')::int as chunks,
        coalesce(sum(valid + invalid + risky + unknown), 0)::int as answered,
        count(*) filter (where kind in ('chunk', 'retry') and state <> 'done')::int as left,
        coalesce(sum(row_count) filter (where kind = 'retry'), 0)::int as put_off
      from job_tasks where job_id = ${jobId}`;
    const nowMs = performance.now();
    if (look.answered !== moved.answered) moved = { atMs: nowMs, answered: look.answered };
    if (nowMs - moved.atMs > STALLED_MS) throw new InvalidRun(`job ${jobId} hangs: ${look.answered} rows`);
    if (look.chunks > 0) startedMs ??= nowMs;
    if (startedMs !== null && look.left === 0) return { tookMs: nowMs - startedMs, putOff: look.put_off };
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
