import { randomBytes } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  type LifecycleRule,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { Config } from "../../config/config.ts";
import { createUploadObjects } from "../../features/uploads/upload-objects.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { httpStatus, type ObjectStore } from "../../stores/objects/objects.ts";
import { errorLine } from "./finding.ts";

/** Something that the service does with objects, by the right that it takes. */
export interface TriedRight {
  right: string;
  /** null: it succeeded. */
  error: string | null;
  status: number | null;
}

export interface ObjectsFacts {
  latencyMs: number;
  /** By how much the store's clock is ahead of ours; null: it sends no time. */
  skewMs: number | null;
  tried: TriedRight[];
  presigned: { host: string; error: string | null; status: number | null };
  /** Whether a page of the portal may send a file; null: its origin is not known. */
  cors: CorsAnswer | null;
  /** null: it does not tell. */
  rules: LifecycleRule[] | null;
  /** null: it does not tell. */
  versioned: boolean | null;
  /** Noncurrent versions and markers of our own probes that may not be deleted: they are deleted as objects all the same. */
  versionsLeft: number;
}

/** Object storage's answer to a browser's preflight request for sending a file. */
export interface CorsAnswer {
  /** Origin of the page. */
  origin: string;
  allowed: boolean;
  /** null: object storage cannot be reached from here by presigned URLs. */
  status: number | null;
}

const BODY = Buffer.from("rcpt doctor: may be deleted\n");
const STEP_MS = 10_000;
const PINGS = 4;
const PRESIGNED_MS = 60_000;

/** A key that no team can have, below the prefix that a policy may bound us to. */
const newProbeKey = () => `teams/doctor-${randomBytes(12).toString("hex")}/probe`;
const patience = () => ({ abortSignal: AbortSignal.timeout(STEP_MS) });

/** Compares the date of every answer, by the store's clock, with ours. */
function watchDates(client: ObjectStore["client"], clock: Clock): () => number | null {
  let skewMs: number | null = null;
  client.middlewareStack.add(
    (next) => async (args) => {
      const before = clock.now();
      const result = await next(args);
      const headers = (result.response as { headers?: Record<string, string> }).headers ?? {};
      const there = Date.parse(headers.date ?? "");
      // Whole seconds, cut off.
      if (!Number.isNaN(there)) skewMs = there + 500 - (before + clock.now()) / 2;
      return result;
    },
    { step: "deserialize", name: "doctorDates" },
  );
  return () => skewMs;
}

class Wrong extends Error {}

/**
 * Deletes versions that a bucket keeps of a probe object, and their delete markers. The service never does that, so the
 * permission may be missing.
 * @returns number of versions left
 */
export async function forgetVersions(
  client: Pick<ObjectStore["client"], "send">,
  at: { Bucket: string; Key: string },
  ids: readonly (string | null | undefined)[],
): Promise<number> {
  let left = 0;
  for (const VersionId of ids) {
    // Absent: the bucket has no versions. "null": the only version, which was deleted with the object.
    if (VersionId === undefined || VersionId === null || VersionId === "null") continue;
    const command = new DeleteObjectCommand({ ...at, VersionId });
    await client.send(command, patience()).catch(() => {
      left += 1;
    });
  }
  return left;
}

/** Tries every operation that the service does with its objects, and leaves no object behind. Never rejects. */
async function tryRights({
  client,
  bucket: Bucket,
}: ObjectStore): Promise<{ tried: TriedRight[]; versionsLeft: number }> {
  const tried: TriedRight[] = [];
  const attempt = async <T>(right: string, work: () => Promise<T>): Promise<T | null> => {
    try {
      const value = await work();
      tried.push({ right, error: null, status: null });
      return value;
    } catch (error) {
      tried.push({ right, error: errorLine(error), status: httpStatus(error) ?? null });
      return null;
    }
  };
  const Key = newProbeKey();
  const at = { Bucket, Key };
  const put = await attempt("PutObject", () =>
    client.send(new PutObjectCommand({ ...at, Body: BODY, ChecksumAlgorithm: "CRC32" }), patience()),
  );
  if (put !== null) {
    await attempt("GetObject", async () => {
      const { Body } = await client.send(new GetObjectCommand({ ...at, Range: "bytes=5-10" }), patience());
      const text = (await Body?.transformToString()) ?? "";
      if (text !== "doctor") throw new Wrong("a range of an object came back as something else");
      await client.send(new HeadObjectCommand(at), patience());
    });
    await attempt("ListBucket", async () => {
      const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: Key }), patience());
      if (page.Contents?.[0]?.Key !== Key) throw new Wrong("an object that was just written is not listed");
    });
  }
  await tryParts(client, at, attempt);
  if (put === null) return { tried, versionsLeft: 0 };
  const gone = await attempt("DeleteObject", () => client.send(new DeleteObjectCommand(at), patience()));
  return { tried, versionsLeft: await forgetVersions(client, at, [put.VersionId, gone?.VersionId]) };
}

type Attempt = <T>(right: string, work: () => Promise<T>) => Promise<T | null>;

async function tryParts(
  client: ObjectStore["client"],
  at: { Bucket: string; Key: string },
  attempt: Attempt,
): Promise<void> {
  const begun = await attempt("PutObject (in parts)", async () => {
    const upload = await client.send(new CreateMultipartUploadCommand(at), patience());
    return upload.UploadId;
  });
  if (begun === null || begun === undefined) return;
  const part = { ...at, UploadId: begun };
  await attempt("PutObject (a part)", () =>
    client.send(new UploadPartCommand({ ...part, PartNumber: 1, Body: BODY }), patience()),
  );
  await attempt("ListMultipartUploadParts", async () => {
    const { Parts } = await client.send(new ListPartsCommand(part), patience());
    if (Parts?.length !== 1) throw new Wrong("a part that was just written is not listed");
  });
  await attempt("ListBucketMultipartUploads", () =>
    client.send(new ListMultipartUploadsCommand({ Bucket: at.Bucket, Prefix: at.Key }), patience()),
  );
  await attempt("AbortMultipartUpload", () => client.send(new AbortMultipartUploadCommand(part), patience()));
}

/** Puts an object by a URL as a client would get it. */
async function tryPresigned(
  store: ObjectStore,
  settings: NonNullable<Config["objects"]>,
  clock: Clock,
  portalOrigin: string | null,
): Promise<Pick<ObjectsFacts, "presigned" | "cors" | "versionsLeft">> {
  const at = { Bucket: store.bucket, Key: newProbeKey() };
  const uploads = createUploadObjects(store, settings, clock);
  const { url, headers } = await uploads.presignPut(at.Key, BODY.length, PRESIGNED_MS);
  const { host } = new URL(url);
  const { version, ...answer } = await putBy(url, headers);
  const cors = portalOrigin === null ? null : await askLeave(url, portalOrigin);
  const gone = await store.client.send(new DeleteObjectCommand(at), patience()).catch(() => null);
  const versionsLeft = await forgetVersions(store.client, at, [version, gone?.VersionId]);
  return { presigned: { host, ...answer }, cors, versionsLeft };
}

/** Asks as a browser does before it sends a file. Never rejects. */
async function askLeave(url: string, origin: string): Promise<CorsAnswer> {
  try {
    const answer = await fetch(url, {
      method: "OPTIONS",
      headers: {
        Origin: origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "content-type",
      },
      redirect: "manual",
      signal: AbortSignal.timeout(STEP_MS),
    });
    await answer.body?.cancel();
    const origins = answer.headers.get("access-control-allow-origin") ?? "";
    const methods = answer.headers.get("access-control-allow-methods") ?? "";
    const allowed = answer.ok && (origins === "*" || origins === origin) && /\bPUT\b|\*/i.test(methods);
    return { origin, allowed, status: answer.status };
  } catch {
    return { origin, allowed: false, status: null };
  }
}

/** Never rejects. */
async function putBy(url: string, headers: Record<string, string>) {
  try {
    const answer = await fetch(url, {
      method: "PUT",
      headers,
      body: BODY,
      redirect: "manual",
      signal: AbortSignal.timeout(STEP_MS),
    });
    const { status } = answer;
    const version = answer.headers.get("x-amz-version-id");
    const text = await answer.text();
    const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1];
    return { error: answer.ok ? null : (code ?? `status ${status}`), status, version };
  } catch (error) {
    return { error: errorLine(error), status: null, version: null };
  }
}

async function lifecycleOf({ client, bucket: Bucket }: ObjectStore): Promise<LifecycleRule[] | null> {
  try {
    const { Rules } = await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }), patience());
    return (Rules ?? []).filter(({ Status }) => Status === "Enabled");
  } catch (error) {
    return error instanceof Error && error.name === "NoSuchLifecycleConfiguration" ? [] : null;
  }
}

async function versioningOf({ client, bucket: Bucket }: ObjectStore): Promise<boolean | null> {
  try {
    const { Status } = await client.send(new GetBucketVersioningCommand({ Bucket }), patience());
    return Status === "Enabled";
  } catch {
    return null;
  }
}

/**
 * Rejects when the bucket does not answer; other failures are among the facts. Removes all objects that it creates.
 * @param portalOrigin origin of the pages that send files; null: not known
 */
export async function lookAtObjects(
  store: ObjectStore,
  settings: NonNullable<Config["objects"]>,
  clock: Clock,
  portalOrigin: string | null,
): Promise<ObjectsFacts> {
  const skew = watchDates(store.client, clock);
  const head = () => store.client.send(new HeadBucketCommand({ Bucket: store.bucket }), patience());
  let latencyMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < PINGS; i++) {
    const begun = clock.monotonic();
    await head();
    latencyMs = Math.min(latencyMs, clock.monotonic() - begun);
  }
  const rights = await tryRights(store);
  const upload = await tryPresigned(store, settings, clock, portalOrigin);
  return {
    latencyMs,
    tried: rights.tried,
    presigned: upload.presigned,
    cors: upload.cors,
    versionsLeft: rights.versionsLeft + upload.versionsLeft,
    rules: await lifecycleOf(store),
    versioned: await versioningOf(store),
    skewMs: skew(),
  };
}
