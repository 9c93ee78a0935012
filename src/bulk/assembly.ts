import type { Endings } from "../services/bulk/ending.ts";
import { createResultsWriter, FORMATS, readResults } from "../services/bulk/results.ts";
import { type JobObjects, newResultsKey } from "../store/job-objects.ts";
import type { AssemblyTask } from "../store/job-tasks.ts";
import type { Database } from "../store/postgres.ts";
import { ask, type Control } from "./control.ts";

export interface AssemblyDeps {
  sql: Database;
  objects: JobObjects;
  endings: Endings;
}

const CONTENT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

/**
 * Puts the results together in input order, in each format, and completes the job. In memory, which inline lists bound.
 * @throws Interruption; MissingObject when a shard is gone; Error when the shards are not what was written
 */
export async function runAssembly(deps: AssemblyDeps, task: AssemblyTask, control: Control): Promise<void> {
  const { sql, objects } = deps;
  const { signal } = control;
  const writers = FORMATS.map((format) => ({ format, writer: createResultsWriter(format) }));
  let joined = 0;
  await ask(async () => {
    for await (const rows of readResults(sql, objects, task.jobId, signal)) {
      signal.throwIfAborted();
      joined += rows.length;
      for (const { writer } of writers) writer.write(rows);
    }
  });
  if (joined !== task.jobRows) throw new Error(`the shards of a job of ${task.jobRows} rows hold ${joined}`);
  const key = newResultsKey(task.teamId, task.jobId);
  for (const { format, writer } of writers)
    await ask(() => objects.put(`${key}.${format}`, writer.end(), CONTENT_TYPES[format], signal));
  await ask(() =>
    sql.begin((tx) =>
      deps.endings.end(tx, task.teamId, task.jobId, { status: "completed", resultsKey: key }),
    ),
  );
}
