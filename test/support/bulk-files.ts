import assert from "node:assert/strict";
import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import type { Response, TestApi, TestDeployment } from "./service.ts";

type Submitted = Response<BulkJob & { code?: string; detail?: string }>;

/** Submits a bulk job with the given body. */
export function submitAs(
  api: TestApi,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Submitted> {
  return api.send("POST", "/v1/verify/bulk", { key, body, headers });
}

/** Uploads a list through the API. @returns the upload's id */
export async function uploaded(
  api: TestApi,
  key: string,
  content: string | Uint8Array,
  filename = "list.csv",
): Promise<string> {
  const { status, body } = await api.send<{ id: string }>("PUT", `/v1/uploads/${filename}`, {
    key,
    body: Buffer.from(content),
    headers: { "Content-Type": "text/csv" },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** A bucket of a customer, beside the deployment's. */
export interface OwnBucket {
  bucket: string;
  put(key: string, content: string | Uint8Array): Promise<void>;
  grant(teamId: string, prefix: string): Promise<void>;
  close(): void;
}

export async function createOwnBucket(deployment: TestDeployment): Promise<OwnBucket> {
  const { S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_BUCKET } = deployment.settings;
  const bucket = `${S3_BUCKET}-own`;
  const client = new S3Client({
    endpoint: S3_ENDPOINT ?? "",
    region: S3_REGION ?? "",
    credentials: { accessKeyId: S3_ACCESS_KEY_ID ?? "", secretAccessKey: S3_SECRET_ACCESS_KEY ?? "" },
    forcePathStyle: true,
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    bucket,
    async put(Key, content) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.from(content) }));
    },
    async grant(teamId, prefix) {
      await deployment.sql`
        insert into s3_grants (team_id, bucket, prefix) values (${teamId}, ${bucket}, ${prefix})`;
    },
    close: () => client.destroy(),
  };
}
