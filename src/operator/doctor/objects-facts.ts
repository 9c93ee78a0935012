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
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config.ts";
import { httpStatus, type ObjectStore } from "../../store/objects.ts";
import { createUploadObjects } from "../../store/upload-objects.ts";
import { reasonOf } from "./finding.ts";

/** Something that the service does with objects, by the right that it takes. */
export interface Tried {
  right: string;
  /** null: it did what it should. */
  error: string | null;
  status: number | null;
}

export interface ObjectsFacts {
  latencyMs: number;
  /** Of the store's clock, ahead of ours; null: it tells none. */
  skewMs: number | null;
  tried: Tried[];
  presigned: { host: string; error: string | null; status: number | null };
  /** null: it does not tell. */
  rules: LifecycleRule[] | null;
  /** null: it does not tell. */
  versioned: boolean | null;
}

const BODY = Buffer.from("rcpt doctor: may be deleted\n");
const STEP_MS = 10_000;
const PINGS = 4;
const PRESIGNED_MS = 60_000;

/** A key that no team can have, below the prefix that a policy may bound us to. */
const newProbeKey = () => `teams/doctor-${randomBytes(12).toString("hex")}/probe`;
const patience = () => ({ abortSignal: AbortSignal.timeout(STEP_MS) });

/** Of every answer: when it was sent, by the store's clock. */
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

/** Goes through all that the service does with an object of ours, and leaves nothing behind. Never rejects. */
async function tryRights({ client, bucket: Bucket }: ObjectStore): Promise<Tried[]> {
  const tried: Tried[] = [];
  const attempt = async <T>(right: string, work: () => Promise<T>): Promise<T | null> => {
    try {
      const value = await work();
      tried.push({ right, error: null, status: null });
      return value;
    } catch (error) {
      tried.push({ right, error: reasonOf(error), status: httpStatus(error) ?? null });
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
  if (put !== null) await attempt("DeleteObject", () => client.send(new DeleteObjectCommand(at), patience()));
  return tried;
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
): Promise<ObjectsFacts["presigned"]> {
  const Key = newProbeKey();
  const uploads = createUploadObjects(store, settings, clock);
  const { url, headers } = await uploads.presignPut(Key, BODY.length, PRESIGNED_MS);
  const { host } = new URL(url);
  try {
    const answer = await fetch(url, {
      method: "PUT",
      headers,
      body: BODY,
      redirect: "manual",
      signal: AbortSignal.timeout(STEP_MS),
    });
    const text = await answer.text();
    const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1];
    if (answer.ok) return { host, error: null, status: answer.status };
    return { host, error: code ?? `status ${answer.status}`, status: answer.status };
  } catch (error) {
    return { host, error: reasonOf(error), status: null };
  } finally {
    await store.client
      .send(new DeleteObjectCommand({ Bucket: store.bucket, Key }), patience())
      .catch(() => undefined);
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

/** Rejects when the bucket does not answer; what else goes wrong is among the facts. Removes whatever it makes. */
export async function lookAtObjects(
  store: ObjectStore,
  settings: NonNullable<Config["objects"]>,
  clock: Clock,
): Promise<ObjectsFacts> {
  const skew = watchDates(store.client, clock);
  const head = () => store.client.send(new HeadBucketCommand({ Bucket: store.bucket }), patience());
  let latencyMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < PINGS; i++) {
    const begun = clock.monotonic();
    await head();
    latencyMs = Math.min(latencyMs, clock.monotonic() - begun);
  }
  const tried = await tryRights(store);
  return {
    latencyMs,
    tried,
    presigned: await tryPresigned(store, settings, clock),
    rules: await lifecycleOf(store),
    versioned: await versioningOf(store),
    skewMs: skew(),
  };
}
