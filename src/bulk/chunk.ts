import { createOverlay } from "../services/authenticate/overlay.ts";
import { type ShardRow, writeShard } from "../services/bulk/shard.ts";
import { readSourceRows, type SourceRow } from "../services/bulk/source.ts";
import { type JobObjects, newShardKey, sourceKey } from "../store/job-objects.ts";
import { beginAssembly, type ChunkOutcome, finishChunk, type Repeat, type Task } from "../store/job-tasks.ts";
import { type JobCounts, startJob } from "../store/jobs.ts";
import type { Database } from "../store/postgres.ts";
import { readTeamDomains } from "../store/team-domains.ts";
import { ask, type Control } from "./control.ts";
import type { RowsAsk, RowVerifier, Verified } from "./rows.ts";

export interface ChunkDeps {
  sql: Database;
  objects: JobObjects;
  rows: RowVerifier;
}

function shardRows(
  task: Task,
  rows: readonly SourceRow[],
  verified: readonly (Verified | null)[],
): ShardRow[] {
  return rows.map(({ email, same_as, copies }, i) => {
    const shown: ShardRow = { row: task.firstRow + i, input: email };
    if (same_as !== undefined) shown.same_as = same_as;
    if (copies !== undefined) shown.copies = copies;
    const result = verified[i]?.result;
    if (result !== undefined) shown.result = result;
    return shown;
  });
}

/**
 * The counts of a chunk: its own rows, which may cost a unit, and those that repeat one of them. Repeats across chunks are
 * noted, to be counted where both are done.
 */
function tally(
  firstRow: number,
  rows: readonly SourceRow[],
  verified: readonly (Verified | null)[],
): Pick<ChunkOutcome, "counts" | "repeats"> {
  const counts: JobCounts = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
  const copiesHere = new Map<number, number>();
  for (const [i, { same_as }] of rows.entries()) {
    const verdict = verified[same_as === undefined ? i : same_as - firstRow]?.result.verdict;
    if (verdict !== undefined) counts[verdict] += 1;
    if (verified[i]?.charged) counts.charged += 1;
    if (same_as !== undefined) copiesHere.set(same_as, (copiesHere.get(same_as) ?? 0) + 1);
  }
  const repeats: Repeat[] = [];
  for (const [row, copies] of copiesHere) if (row < firstRow) repeats.push({ row, verdict: null, copies });
  for (const [i, { copies = 0 }] of rows.entries()) {
    const row = firstRow + i;
    const verdict = verified[i]?.result.verdict;
    if (verdict !== undefined && copies > (copiesHere.get(row) ?? 0))
      repeats.push({ row, verdict, copies: 0 });
  }
  return { counts, repeats };
}

/**
 * A chunk: its rows are read, verified, written as a shard, and only then is it done. When it was the last one, the
 * assembly of the job can begin.
 * @param giveUp ask nobody: its rows are `unknown`, `internal_error`
 * @throws Interruption; MissingObject when the source is gone; Error when the source is not what was written
 */
export async function runChunk(
  deps: ChunkDeps,
  task: Task,
  control: Control,
  giveUp: boolean,
): Promise<void> {
  const { sql, objects } = deps;
  const { teamId, jobId, livemode, withEvidence, probing } = task;
  await ask(() => startJob(sql, jobId));
  const domains = await ask(() => readTeamDomains(sql, teamId));
  const source = sourceKey(teamId, jobId);
  const content = await ask(() => objects.getRange(source, task, control.signal));
  const rows = readSourceRows(content, task.rows);
  const asked: RowsAsk = {
    asker: { teamId, probing, overlay: createOverlay(domains) },
    livemode,
    withEvidence,
  };
  const verified = giveUp ? deps.rows.giveUp(rows, asked) : await deps.rows.verify(rows, asked, control);
  const key = newShardKey(teamId, jobId, task.number);
  const shard = writeShard(shardRows(task, rows, verified));
  await ask(() => objects.put(key, shard, "application/x-ndjson", control.signal));
  const outcome = { shardKey: key, ...tally(task.firstRow, rows, verified) };
  await ask(() => sql.begin((tx) => finishChunk(tx, task, outcome)));
  await ask(() => beginAssembly(sql, jobId));
}
