import assert from "node:assert/strict";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import { jobOf, ledgerState } from "./bulk.ts";
import { submitAs, uploaded } from "./bulk-files.ts";
import type { JobView, MixedList } from "./mixed-list.ts";
import { createObjectGate, type ObjectFault, type ObjectGate, type ObjectRequest } from "./object-gate.ts";
import { type OwnRedis, startOwnRedis } from "./own-services.ts";
import { createProcesses, type MainProcess, type Processes } from "./processes.ts";
import { createDeployment } from "./service.ts";
import { createClosing } from "./store.ts";
import { until } from "./until.ts";

export const TASKS = "rcpt:{bulk}:tasks";
export const WHOLE = "rcpt:{bulk}:whole";

/** A deployment with a Redis of its own, whose workers are real processes. */
export interface BulkScenario extends JobView {
  redis: OwnRedis;
  /** The proxy between the workers and object storage. */
  storage: ObjectGate;
  processes: Processes;
  /** The role `bulk` in a process of its own, which serves. */
  startWorker(settings?: Record<string, string>): Promise<MainProcess>;
  close(): Promise<void>;
}

export interface BulkScenarioOptions {
  /** URL of the embedded PostgreSQL in which to make the database; default: the test run's. */
  postgresUrl?: string;
  /** Settings of the API and the relay. */
  settings?: Record<string, string>;
  /** Closed with the scenario; absent: one is started. */
  redis?: OwnRedis;
}

export async function openBulkScenario(options: BulkScenarioOptions = {}): Promise<BulkScenario> {
  const closing = createClosing();
  const deployment = await createDeployment(options.postgresUrl);
  closing.after(() => deployment.stop());
  const processes = createProcesses();
  const redis = options.redis ?? (await startOwnRedis());
  closing.after(() => redis.close());
  const storage = await createObjectGate(deployment.settings.S3_ENDPOINT ?? "");
  closing.after(() => storage.close());
  closing.after(() => processes.close());
  const settings = { REDIS_URL: redis.url, ...options.settings };
  const [api, team] = await Promise.all([
    deployment.startApi(settings),
    deployment.team("enterprise"),
    deployment.startRelay(settings),
  ]);
  return {
    deployment,
    api,
    team,
    redis,
    storage,
    processes,
    async startWorker(more = {}) {
      const worker = processes.start({
        ...deployment.settings,
        REDIS_URL: redis.url,
        S3_ENDPOINT: storage.endpoint,
        ROLE: "bulk",
        CHECK_THREADS: "1",
        ...more,
      });
      await worker.ready;
      return worker;
    },
    close: () => closing.close(),
  };
}

/** Uploads the list and submits it. */
export async function submitList({ api, team }: JobView, { csv }: Pick<MixedList, "csv">): Promise<string> {
  const upload_id = await uploaded(api, team.liveKey, csv);
  const { status, body } = await submitAs(api, team.liveKey, { upload_id });
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

/** Resolves to the job once it has this state. */
export function stands(
  { api, team }: JobView,
  id: string,
  what: string,
  holds: (job: BulkJob) => boolean,
): Promise<BulkJob> {
  return until(
    what,
    async () => {
      const job = await jobOf(api, team.liveKey, id);
      return holds(job) && job;
    },
    120_000,
  );
}

/** Requests to write the shard of a chunk, by its number. */
export function isShardOf(chunk: number): (request: ObjectRequest) => boolean {
  const name = `/shards/${String(chunk).padStart(8, "0")}-`;
  return ({ method, path }) => method === "PUT" && path.includes(name);
}

/**
 * Fails these object storage requests of the workers from now on: a task that makes one is retried until the fault
 * ends. (A mail server that is held, in contrast, runs into a timeout.)
 * @returns ends the fault
 */
export function obstruct(
  { storage }: BulkScenario,
  isMeant: (request: ObjectRequest) => boolean,
  fault: ObjectFault = { status: 503 },
): () => void {
  storage.setFaults((request) => (isMeant(request) ? fault : null));
  return () => storage.setFaults(() => null);
}

export async function usedOf({ deployment, team }: JobView): Promise<number> {
  return (await ledgerState(deployment, team.id)).used;
}

/** Resolves once the stream of tasks is empty, for all jobs. */
export async function streamEmpties({ redis }: Pick<BulkScenario, "redis">): Promise<void> {
  await until("the stream is empty", async () => (await redis.client.xlen(TASKS)) === 0);
}

/** Ends a process by SIGKILL. */
export async function killed(worker: MainProcess): Promise<void> {
  worker.kill("SIGKILL");
  assert.equal((await worker.exited).signal, "SIGKILL");
}

/** Ends a process by SIGTERM, and waits for its exit. */
export async function retired(worker: MainProcess): Promise<void> {
  worker.kill("SIGTERM");
  assert.deepEqual(await worker.exited, { code: 0, signal: null }, worker.stderr());
}
