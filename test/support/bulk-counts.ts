import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { findJob } from "../../src/features/bulk/jobs/job-sql.ts";
import { materialOf } from "../../src/features/bulk/results/job-results.ts";
import { readJoined } from "../../src/features/bulk/results/join.ts";
import { chunksOf } from "../../src/features/bulk/schedule/job-tasks.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import type { Database } from "../../src/stores/postgres/postgres.ts";
import { createScratch } from "../../src/stores/scratch.ts";
import type { MemoryObjects } from "./memory-objects.ts";

/** Number of rows by verdict. */
export type Counted = Record<string, number>;

/** The rows that the job's results have now. */
export async function shownRows(sql: Database, objects: MemoryObjects, jobId: string): Promise<Counted> {
  const material = await materialOf(sql, jobId);
  assert.ok(material !== null);
  const deps = {
    objects,
    streams: objects.streams,
    granted: async () => true,
    clock: systemClock,
    scratch: createScratch(tmpdir()),
    chunksOf: (id: string, after: number, limit: number) => chunksOf(sql, id, after, limit),
  };
  const counted: Counted = {};
  for await (const part of readJoined(deps, material, new AbortController().signal))
    for (const { result } of part) counted[result.verdict] = (counted[result.verdict] ?? 0) + 1;
  return counted;
}

/** The rows that the job says are answered. */
export async function countedRows(sql: Database, teamId: string, jobId: string): Promise<Counted> {
  const job = await findJob(sql, teamId, jobId);
  assert.ok(job !== null);
  const { valid, invalid, risky, unknown } = job;
  return Object.fromEntries(
    Object.entries({ valid, invalid, risky, unknown }).filter(([, rows]) => rows > 0),
  );
}
