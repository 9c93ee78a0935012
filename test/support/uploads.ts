import { ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { effectiveLimits, type TierLimits } from "../../src/config/tiers.ts";
import type { UploadSources } from "../../src/features/bulk/submit/submit-file.ts";
import type { Actor } from "../../src/features/identity/actor.ts";
import { createPreviewUpload } from "../../src/features/uploads/preview.ts";
import { readPreview } from "../../src/features/uploads/read-preview.ts";
import { createReceiveUpload } from "../../src/features/uploads/receive.ts";
import { createUploadRemoval, type UploadRemoval } from "../../src/features/uploads/removal.ts";
import { createUploadObjects, type UploadObjects } from "../../src/features/uploads/upload-objects.ts";
import { createUploadSources } from "../../src/features/uploads/upload-sources.ts";
import { createUploads, type Uploads } from "../../src/features/uploads/uploads.ts";
import { newId } from "../../src/platform/ids.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createObjectStreams, type ObjectStreams } from "../../src/stores/objects/object-streams.ts";
import { createObjectStore, type ObjectStore } from "../../src/stores/objects/objects.ts";
import type { Database, Queryable } from "../../src/stores/postgres/postgres.ts";
import { testObjects } from "./embedded.ts";
import { testLog } from "./log.ts";
import { actorFor, newTeam, openDatabase } from "./store.ts";

/** The services of uploads on a database and a bucket of their own. */
export interface UploadsWorld {
  sql: Database;
  uploads: Uploads;
  sources: UploadSources;
  removal: UploadRemoval;
  streams: ObjectStreams;
  objects: UploadObjects;
  /** Keys of objects below a prefix, and of unfinished multipart uploads. */
  leftBelow(prefix: string): Promise<{ objects: string[]; parts: string[] }>;
  /** From now on deletions fail: all of them, or those of one key. */
  failDeletions(fail: boolean | string): void;
}

/** Keys of objects below a prefix, and of unfinished multipart uploads. */
export async function listBelow({ client, bucket: Bucket }: ObjectStore, Prefix: string) {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix }));
  return {
    objects: Contents.map(({ Key = "" }) => Key),
    parts: Uploads.map(({ Key = "" }) => Key),
  };
}

export async function openUploads(t: Parameters<typeof openDatabase>[0]): Promise<UploadsWorld> {
  const { sql } = await openDatabase(t);
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  const settings = { endpoint, publicEndpoint: endpoint, region, bucket, credentials };
  const store = createObjectStore(settings, systemClock);
  t.after(() => store.stop());
  const streams = createObjectStreams(store, systemClock);
  const objects = createUploadObjects(store, settings, systemClock);
  let failing: boolean | string = false;
  const sources = createUploadSources({ sql, streams });
  return {
    sql,
    streams,
    objects,
    uploads: createUploads({
      sql,
      storage: { streams, objects },
      preview: createPreviewUpload({ sources, streams, read: readPreview, clock: systemClock }),
      receive: createReceiveUpload({ sql, streams, clock: systemClock, retentionDays: 30 }),
      retentionDays: 30,
    }),
    sources,
    removal: createUploadRemoval({
      sql,
      streams,
      deleteBelow: (prefix) =>
        failing === true || failing === prefix
          ? Promise.reject(new Error("object storage is gone"))
          : store.deleteBelow(prefix),
      log: testLog,
      retentionDays: 30,
    }),
    leftBelow: (prefix) => listBelow(store, prefix),
    failDeletions(fail) {
      failing = fail;
    },
  };
}

/** A member of a new team of the tier enterprise. */
export async function enterpriseActor(sql: Database, overrides: Partial<TierLimits> = {}): Promise<Actor> {
  const { teamId, userId } = await newTeam(sql, "enterprise");
  return actorFor(
    teamId,
    {},
    { tier: "enterprise", userId, limits: effectiveLimits("enterprise", overrides) },
  );
}

/** A queued job that reads an upload; no worker runs it. */
export async function addJob(sql: Queryable, teamId: string, uploadId: string) {
  const id = newId("job");
  await sql`
    insert into jobs (id, team_id, livemode, status, source, upload_id, source_key, options, daily_quota, bulk_bytes, probing,
      with_evidence, metadata)
    values (${id}, ${teamId}, true, 'queued', '{"type": "upload"}', ${uploadId}, 'k', '{}', 1, 1, false, false, '{}')`;
  return {
    id,
    async end(status: "completed" | "failed" | "cancelled"): Promise<void> {
      await sql`update jobs set status = ${status}, completed_at = now() where id = ${id}`;
    },
  };
}
