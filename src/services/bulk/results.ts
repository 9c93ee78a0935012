import type { Verdict } from "../../check/verdict/table.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { type JobObjects, MissingObject } from "../../store/job-objects.ts";
import { finishedChunks } from "../../store/job-tasks.ts";
import type { JobRow } from "../../store/jobs.ts";
import type { Queryable } from "../../store/postgres.ts";
import { createBodyBudget } from "./body-budget.ts";
import { CSV_HEADER, createJoiner, csvLine, jsonLine, type ResultRow, readShard } from "./shard.ts";

export const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

/** One body in a format, from rows in the order of the job. */
export interface ResultsWriter {
  write(rows: readonly ResultRow[]): void;
  end(): Buffer;
}

export function createResultsWriter(format: Format): ResultsWriter {
  const parts: Buffer[] = format === "csv" ? [Buffer.from(CSV_HEADER)] : [];
  const line = format === "csv" ? csvLine : jsonLine;
  return {
    write(rows) {
      parts.push(Buffer.from(rows.map(line).join("")));
    },
    end: () => Buffer.concat(parts),
  };
}

/**
 * The rows of a job's finished chunks that have a result, in input order, chunk by chunk.
 * @throws MissingObject when the job was removed meanwhile
 */
export async function* readResults(
  sql: Queryable,
  objects: JobObjects,
  jobId: string,
  cancelled?: AbortSignal,
): AsyncGenerator<ResultRow[]> {
  const joiner = createJoiner();
  let after = -1;
  for (;;) {
    const chunks = await finishedChunks(sql, jobId, after, LIMITS.bulk.chunksPerPage);
    for (const { shardKey } of chunks) yield joiner.join(readShard(await objects.get(shardKey, cancelled)));
    const last = chunks.at(-1);
    if (last === undefined || chunks.length < LIMITS.bulk.chunksPerPage) return;
    after = last.number;
  }
}

/** A body of results, counted against what the process may hold until it is released. */
export interface ResultsBody {
  bytes: Buffer;
  release(): void;
}

/** Bodies of results. Bounded: an inline list has LIMITS.bulk.inlineRows rows, and few bodies are made or held at once. */
export interface Results {
  /**
   * What there is of a job: all of it when it has completed, what is answered before that, nothing of a failed one. The
   * caller releases it when the client has it, or has gone.
   * @param verdict only rows of this one; null: all
   * @throws AppError `overloaded`; `unavailable` when object storage fails; `not_found` when the job is being removed
   */
  read(job: JobRow, format: Format, verdict: Verdict | null): Promise<ResultsBody>;
}

export function createResults(deps: { sql: Queryable; objects: JobObjects }): Results {
  const { sql, objects } = deps;
  const budget = createBodyBudget();

  async function gather(job: JobRow, format: Format, verdict: Verdict | null): Promise<Buffer> {
    if (job.results_key !== null && verdict === null) return objects.get(`${job.results_key}.${format}`);
    const writer = createResultsWriter(format);
    if (job.status === "failed") return writer.end();
    for await (const rows of readResults(sql, objects, job.id))
      writer.write(verdict === null ? rows : rows.filter(({ result }) => result.verdict === verdict));
    return writer.end();
  }

  return {
    async read(job, format, verdict) {
      const { made, release } = budget.begin(job.team_id);
      try {
        const bytes = await gather(job, format, verdict);
        made(bytes.length);
        return { bytes, release };
      } catch (error) {
        release();
        if (error instanceof MissingObject)
          throw new AppError("not_found", "The job has been removed.", { cause: error });
        throw new AppError("unavailable", "The results cannot be read now.", {
          retryAfterS: 1,
          cause: error,
        });
      }
    },
  };
}
