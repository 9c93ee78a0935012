import { LIMITS } from "../core/limits.ts";
import { UnknownShardForm } from "../services/bulk/drawn-shard.ts";
import type { Endings } from "../services/bulk/ending.ts";
import { type JoinDeps, readJoined } from "../services/bulk/join.ts";
import { CONTENT_TYPES, createRoom, FORMATS, formatOf } from "../services/bulk/result-rows.ts";
import { newResultsKey } from "../store/job-objects.ts";
import { type JobMaterial, materialOf } from "../store/job-results.ts";
import { type AssemblyTask, chunksOf } from "../store/job-tasks.ts";
import type { ObjectStreams } from "../store/object-streams.ts";
import type { Database } from "../store/postgres.ts";
import { ask, type Control, Interruption } from "./control.ts";

export interface AssemblyDeps extends Omit<JoinDeps, "chunksOf" | "streams" | "sizes"> {
  sql: Database;
  streams: Pick<ObjectStreams, "readRange" | "openWrite">;
  endings: Endings;
}

/**
 * Writes the results of all rows under `key`, in all formats at once. Memory: that of the join, and of a writer for each
 * format.
 * @throws Error when there is not a result for every row; those of the join and of the writers: then nothing is written
 */
async function writeResults(
  deps: AssemblyDeps,
  material: JobMaterial,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { sql, streams } = deps;
  const { partsInFlight } = LIMITS.results;
  const outputs = FORMATS.map((format) => ({
    // A writer has taken what it is given when the next is made.
    format: formatOf(format, material, createRoom()),
    writer: streams.openWrite(`${key}.${format}`, CONTENT_TYPES[format], signal, 0, partsInFlight),
  }));
  const joinDeps = {
    ...deps,
    chunksOf: (jobId: string, after: number, limit: number) => chunksOf(sql, jobId, after, limit),
  };
  let joined = 0;
  try {
    for (const { format, writer } of outputs) await writer.write(format.start);
    for await (const rows of readJoined(joinDeps, material, signal)) {
      joined += rows.length;
      await Promise.all(outputs.map(({ format, writer }) => writer.write(format.rows(rows))));
    }
    if (joined !== material.rows)
      throw new Error(`the shards of a job of ${material.rows} rows hold ${joined}`);
    await Promise.all(outputs.map(({ writer }) => writer.end()));
  } catch (error) {
    await Promise.all(outputs.map(({ writer }) => writer.abort()));
    throw error;
  }
}

/** What a newer build wrote is for a worker of that build to join: the task is not to blame, and comes to one in the end. */
async function joinable(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof UnknownShardForm)) throw error;
    throw new Interruption("a newer build wrote a shard", { cause: error });
  }
}

/**
 * Puts the results together in input order, in each format, and completes the job. Done anew by whoever does it again,
 * under a key of its own: what nobody completes a job with goes with the job.
 * @throws Interruption; SourceLost, MissingObject when an object is gone; Error when one is not what was written
 */
export async function runAssembly(deps: AssemblyDeps, task: AssemblyTask, control: Control): Promise<void> {
  const { sql } = deps;
  const { teamId, jobId } = task;
  const material = await ask(() => materialOf(sql, jobId));
  // Removed since it was begun.
  if (material === null) return;
  const resultsKey = newResultsKey(teamId, jobId);
  await ask(() => joinable(() => writeResults(deps, material, resultsKey, control.signal)));
  await ask(() =>
    sql.begin((tx) => deps.endings.end(tx, teamId, jobId, { status: "completed", resultsKey })),
  );
}
