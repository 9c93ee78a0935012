import { setTimeout as wait } from "node:timers/promises";
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Database } from "../../../src/stores/postgres/postgres.ts";
import type { ChaosDeployment } from "../deployment/deployment.ts";

/** Keys of object storage. */
export interface Stored {
  objects: string[];
  /** Keys of multipart uploads that were never completed. */
  parts: string[];
}

/** Contents of object storage once all work had settled, and after the relays had removed unreadable objects. */
export interface HourLater {
  /** Seconds until the relays had removed them; null: not done when time was up. */
  tidiedS: number | null;
  before: Stored;
  after: Stored;
  /** Keys of all readable objects: results, and uploaded files. */
  readable: string[];
}

/** A round comes every LIMITS.bulk.removeEveryMs and takes LIMITS.bulk.jobsPerRound jobs. */
const TIDIED_WITHIN_MS = 60_000;
const POLL_MS = 250;

/** Object storage itself, beside the gate that makes it fail. */
function openStorage({ stores }: ChaosDeployment) {
  const { endpoint, region, bucket: Bucket, accessKeyId, secretAccessKey } = stores.objects;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  return {
    async list(): Promise<Stored> {
      const objects: string[] = [];
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket }))
        objects.push(...Contents.map(({ Key = "" }) => Key));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return { objects, parts: Uploads.map(({ Key = "" }) => Key) };
    },
    /** As a writer that is killed in the middle. */
    async beginParts(Key: string): Promise<void> {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
      await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: "part" }));
    },
    close: () => client.destroy(),
  };
}

async function readableKeys(sql: Database): Promise<string[]> {
  const rows = await sql<{ key: string }[]>`
    select results_key || format as key from jobs, unnest(array['.jsonl', '.csv']) as format where results_key is not null
    union all
    select object_key from uploads where status = 'stored' and removed_at is null`;
  return rows.map(({ key }) => key);
}

/** Number of jobs that the relays still have to tidy: the source is not removed yet, or the job is marked as removed. */
async function untidied(sql: Database): Promise<number> {
  const [row] = await sql<[{ left: number }]>`
    select count(*)::int as left from jobs where not source_removed or removed_at is not null`;
  return row.left;
}

async function someResultsKey(sql: Database): Promise<string | null> {
  const [row] = await sql<{ results_key: string }[]>`
    select results_key from jobs where results_key is not null order by id limit 1`;
  return row?.results_key ?? null;
}

/** Waits until the relays have been at every job. @returns how long, in seconds; null: time was up */
async function untilTidied(sql: Database): Promise<number | null> {
  const startedMs = performance.now();
  for (;;) {
    const tookMs = performance.now() - startedMs;
    if ((await untidied(sql)) === 0) return tookMs / 1_000;
    if (tookMs > TIDIED_WITHIN_MS) return null;
    await wait(POLL_MS);
  }
}

/**
 * Sets the end of all jobs to an hour ago, after which the relays remove leftovers, and waits for that. Leftovers of
 * killed processes must be gone then, and nothing else. Few runs kill a process in the middle of writing large results:
 * one such upload is begun here, so that every run tests its removal.
 */
export async function anHourLater(deployment: ChaosDeployment): Promise<HourLater> {
  const { sql } = deployment;
  const storage = openStorage(deployment);
  try {
    const resultsKey = await someResultsKey(sql);
    if (resultsKey !== null) await storage.beginParts(`${resultsKey}0.jsonl`);
    const before = await storage.list();
    await sql`
      update jobs set completed_at = completed_at - ${LIMITS.bulk.spentRestMs} * interval '1 millisecond',
        removed_at = removed_at - ${LIMITS.bulk.spentRestMs} * interval '1 millisecond'`;
    const tidiedS = await untilTidied(sql);
    return { tidiedS, before, after: await storage.list(), readable: await readableKeys(sql) };
  } finally {
    storage.close();
  }
}
