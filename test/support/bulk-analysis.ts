import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import type { TierLimits } from "../../src/config/tiers.ts";
import { type ChunkRepeats, decodeChunkRepeats } from "../../src/features/bulk/analysis/repeats.ts";
import { createJobEndings, type JobEndings } from "../../src/features/bulk/jobs/job-endings.ts";
import {
  findJob,
  insertJob,
  type JobRow,
  type JobSource,
  type NewJob,
  type ObjectPlace,
} from "../../src/features/bulk/jobs/job-sql.ts";
import { repeatsKey } from "../../src/features/bulk/results/job-objects.ts";
import { materialOf } from "../../src/features/bulk/results/job-results.ts";
import { type AnalysisDeps, runAnalysis } from "../../src/features/bulk/run/analysis-task.ts";
import { type Control, createControl } from "../../src/features/bulk/run/control.ts";
import { TaskReport } from "../../src/features/bulk/run/task-report.ts";
import { insertAnalysis, startTask } from "../../src/features/bulk/schedule/job-tasks.ts";
import { newId } from "../../src/platform/ids.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createObjectStreams, type ObjectStreams } from "../../src/stores/objects/object-streams.ts";
import { createObjectStore, type ObjectStore } from "../../src/stores/objects/objects.ts";
import type { Database } from "../../src/stores/postgres/postgres.ts";
import { createScratch } from "../../src/stores/scratch.ts";
import { testObjects } from "./embedded.ts";
import { type createClosing, newTeam, openDatabase } from "./store.ts";

/** A job of a file, queued with its analysis. */
export interface FileJob {
  id: string;
  teamId: string;
  place: ObjectPlace;
}

/** A chunk of an analysed job as a worker would find it. */
export interface IndexedChunk extends ChunkRepeats {
  firstRow: number;
  rows: number;
  content: Buffer;
}

/** Runs analyses on real Postgres and object storage; `parts` may replace dependencies of one. */
export interface AnalysisBench {
  sql: Database;
  store: ObjectStore;
  streams: ObjectStreams;
  endings: JobEndings;
  /** A list in object storage. @returns its ETag */
  put(key: string, content: Buffer): Promise<string>;
  /** A job of a new team, or of `terms.teamId`, whose list has this content. */
  queue(
    content: Buffer | string,
    terms?: Partial<NewJob> & { limits?: Partial<TierLimits> },
  ): Promise<FileJob>;
  /** One attempt, as a worker makes it; false: there was nothing to do. */
  analyse(job: FileJob, parts?: Partial<AnalysisDeps>, control?: Control): Promise<boolean>;
  jobOf(job: FileJob): Promise<JobRow>;
  chunksOf(job: FileJob): Promise<IndexedChunk[]>;
  /** Units that the job holds; null: it holds nothing. */
  heldBy(job: FileJob): Promise<number | null>;
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

export async function openAnalyses(closing: ReturnType<typeof createClosing>): Promise<AnalysisBench> {
  const { sql } = await openDatabase(closing);
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const store = createObjectStore(
    { endpoint, publicEndpoint: endpoint, region, bucket, credentials },
    systemClock,
  );
  closing.after(() => store.stop());
  const streams = createObjectStreams(store, systemClock);
  const endings = createJobEndings({ clock: systemClock, view: { publicUrl: null, retentionDays: 30 } });
  const deps: AnalysisDeps = {
    sql,
    streams,
    scratch: createScratch(tmpdir()),
    endings,
    clock: systemClock,
    bucket,
  };

  const bench: AnalysisBench = {
    sql,
    store,
    streams,
    endings,
    put: async (key, content) => (await streams.write(key, once(content), "text/csv")).etag,
    async queue(content, { limits, ...terms } = {}) {
      const teamId = terms.teamId ?? (await newTeam(sql, "enterprise")).teamId;
      if (limits !== undefined) await sql`update teams set limits = ${sql.json(limits)} where id = ${teamId}`;
      const id = newId("job");
      const key = terms.place?.key ?? `teams/${teamId}/uploads/${id}`;
      const place = terms.place ?? { bucket: null, key, etag: await bench.put(key, Buffer.from(content)) };
      const source: JobSource = { type: "upload", upload_id: "upl_1", filename: "list.csv" };
      const job: NewJob = { ...termsOf(teamId, id), source, ...terms, place };
      await sql.begin(async (tx) => {
        await insertJob(tx, job, "queued");
        await insertAnalysis(tx, id);
      });
      return { id, teamId, place };
    },
    async analyse({ id }, parts = {}, control = createControl()) {
      const task = await startTask(sql, { jobId: id, number: -1 });
      if (task === null) return false;
      assert.equal(task.kind, "analysis");
      const report = new TaskReport(task, deps.clock, null);
      await runAnalysis({ ...deps, ...parts }, task, { control, report });
      return true;
    },
    async jobOf({ id, teamId }) {
      const job = await findJob(sql, teamId, id);
      assert.ok(job !== null);
      return job;
    },
    chunksOf: (job) => readChunks(sql, streams, job),
    async heldBy({ id }) {
      const [hold] = await sql<{ units: number }[]>`select units from quota_holds where job_id = ${id}`;
      return hold?.units ?? null;
    },
  };
  return bench;
}

function termsOf(teamId: string, id: string): Omit<NewJob, "source" | "place"> {
  return {
    id,
    teamId,
    livemode: true,
    uploadId: null,
    sourceBytes: null,
    options: {},
    dailyQuota: 1_000_000,
    bulkBytes: 1_000_000_000,
    probing: true,
    withEvidence: false,
    metadata: {},
    webhookUrl: null,
  };
}

async function readChunks(sql: Database, streams: ObjectStreams, job: FileJob): Promise<IndexedChunk[]> {
  const found = await materialOf(sql, job.id);
  assert.ok(found !== null, "the job has not been analysed");
  const { bucket, key, etag } = found.place;
  const ref = { bucket, key, ...(etag === null ? {} : { etag }) };
  const index = { bucket: null, key: repeatsKey(job.teamId, job.id) };
  const tasks = await sql<
    { number: number; row: number; rows: number; byte: number; bytes: number; at: number; length: number }[]
  >`
    select number, first_row as row, row_count as rows, first_byte as byte, byte_count as bytes, repeats_byte as at,
      repeats_bytes as length
    from job_tasks where job_id = ${job.id} and kind = 'chunk' order by number`;
  const chunks: IndexedChunk[] = [];
  for (const [i, { number, row, rows, byte, bytes, at, length }] of tasks.entries()) {
    assert.equal(number, i);
    const content = await streams.readRange(ref, { firstByte: byte, bytes });
    const repeats =
      length === 0 ? Buffer.alloc(0) : await streams.readRange(index, { firstByte: at, bytes: length });
    chunks.push({ firstRow: row, rows, content, ...decodeChunkRepeats(repeats) });
  }
  return chunks;
}
