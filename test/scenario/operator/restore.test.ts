import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import postgres from "postgres";
import { createPostgres } from "../../../src/stores/postgres/postgres.ts";
import { ended, jobOf, ledgerState } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { assertWhole, type JobView, mixedList } from "../../support/mixed-list.ts";
import { createObjectGate, type ObjectGate } from "../../support/object-gate.ts";
import { createDeployment, type Team, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * The effect of a restore on a job that was in flight (docs/operations.md). Postgres is copied while the job runs, as a
 * restore to that moment would make it; the job then completes. The copy then runs with the bucket as it is after the
 * job; and with the bucket as it was before the job, which is the state of a bucket without versions once the job is
 * tidied up. Redis is new each time.
 */
const LIST = mixedList({ tag: "restored", rows: 1_100 });

let deployment: TestDeployment;
let gate: ObjectGate;
let admin: postgres.Sql;
let s3: S3Client;
let team: Team;
let job: string;
/** The database when the first chunk was done and the second was not. */
let moment: string;
/** The bucket before the job, and after it. */
let bucketBefore: string;
let bucketAfter: string;
const databases: string[] = [];

/** A copy of a database as it is now. Clients that write to it lose their connections meanwhile. */
async function copyDatabase(from: string): Promise<string> {
  const name = `${from.slice(0, 30)}_copy${databases.length}`;
  await admin.unsafe(`alter database ${from} with allow_connections false`);
  try {
    // Postgres itself waits five seconds for sessions that it has asked to end.
    await until("the database is copied", async () => {
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${from}`;
      return admin.unsafe(`create database ${name} template ${from}`).then(
        () => true,
        (error: { code?: string }) => (error.code === "55006" ? false : Promise.reject(error)),
      );
    });
  } finally {
    await admin.unsafe(`alter database ${from} with allow_connections true`);
  }
  databases.push(name);
  return name;
}

async function keysOf(Bucket: string, Prefix = ""): Promise<string[]> {
  const { Contents = [], IsTruncated } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
  assert.notEqual(IsTruncated, true);
  return Contents.flatMap(({ Key }) => Key ?? []);
}

async function copyBucket(from: string, as: string): Promise<string> {
  const Bucket = `${from.slice(0, 40)}-${as}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const Key of await keysOf(from)) {
    const { Body: source } = await s3.send(new GetObjectCommand({ Bucket: from, Key }));
    const Body = (await source?.transformToByteArray()) ?? assert.fail("an object without a body");
    await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
  }
  return Bucket;
}

/** All roles on the database of that moment, with a bucket and an empty Redis. */
async function restored(bucket: string, work: (view: JobView) => Promise<void>): Promise<void> {
  const url = new URL(deployment.settings.DATABASE_URL);
  url.pathname = `/${await copyDatabase(moment)}`;
  const settings = { DATABASE_URL: url.href, REDIS_URL: await testRedisUrl(), S3_BUCKET: bucket };
  const sql = createPostgres({ url: url.href, maxConnections: 2, applicationName: "rcpt-scenario" });
  const relay = await deployment.startRelay(settings);
  const api = await deployment.startApi(settings);
  const bulk = await deployment.startBulk(settings);
  try {
    await work({ deployment: { ...deployment, sql }, api, team });
  } finally {
    await Promise.all([bulk.stop(), api.stop(), relay.stop()]);
    await sql.end({ timeout: 1 });
  }
}

before(async () => {
  deployment = await createDeployment();
  const { settings } = deployment;
  gate = await createObjectGate(settings.S3_ENDPOINT ?? "");
  const url = new URL(settings.DATABASE_URL);
  const live = url.pathname.slice(1);
  url.pathname = "/postgres";
  admin = postgres(url.href, { max: 1, onnotice: () => undefined });
  s3 = new S3Client({
    endpoint: settings.S3_ENDPOINT ?? "",
    region: settings.S3_REGION ?? "",
    forcePathStyle: true,
    credentials: {
      accessKeyId: settings.S3_ACCESS_KEY_ID ?? "",
      secretAccessKey: settings.S3_SECRET_ACCESS_KEY ?? "",
    },
  });
  team = await deployment.team("enterprise");
  const api = await deployment.startApi();
  const bulk = await deployment.startBulk({ S3_ENDPOINT: gate.endpoint });
  const upload = await uploaded(api, team.liveKey, LIST.csv);
  bucketBefore = await copyBucket(settings.S3_BUCKET ?? "", "before");
  gate.setFaults(({ method, path }) =>
    method === "PUT" && path.includes("/shards/00000001-") ? { status: 503 } : null,
  );
  const { body } = await submitAs(api, team.liveKey, { upload_id: upload });
  job = body.id;
  const isHalfDone = async () => {
    const { rows } = await jobOf(api, team.liveKey, job);
    return rows.processed > 0 && rows.processed < LIST.rows.length;
  };
  await until("some rows are answered", isHalfDone, 120_000);
  moment = await copyDatabase(live);
  gate.setFaults(() => null);
  await assertWhole({ deployment, api, team }, job, LIST, 0);
  await Promise.all([bulk.stop(), api.stop()]);
  bucketAfter = settings.S3_BUCKET ?? "";
});
after(async () => {
  s3?.destroy();
  await gate?.close();
  for (const name of databases) await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin?.end();
  await deployment?.stop();
});

describe("Postgres as it was while a job ran", () => {
  it("beside a bucket of later: the job completes once more, and is charged once", () =>
    restored(bucketAfter, async (view) => {
      const before = await ledgerState(view.deployment, team.id);
      assert.deepEqual([before.used, before.held > 0], [0, true]);
      await assertWhole(view, job, LIST, 0);
    }));

  it("beside a bucket without the job's source: it fails, says why, and costs nothing", () =>
    restored(bucketBefore, async (view) => {
      const failed = await ended(view.api, team.liveKey, job, 120_000);
      assert.deepEqual([failed.status, failed.error?.code], ["failed", "objects_missing"]);
      const { used, held } = await ledgerState(view.deployment, team.id);
      assert.deepEqual([used, held], [0, 0]);
    }));
});
