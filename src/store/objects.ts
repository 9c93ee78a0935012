import { CreateBucketCommand, HeadBucketCommand, S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";

export interface ObjectStore {
  client: S3Client;
  bucket: string;
  /** Makes the bucket when it is missing. Rejects when it belongs to somebody else or cannot be made. */
  ensureBucket(): Promise<void>;
  /** Resolves when the bucket answers; rejects when it does not. For readiness. */
  ping(): Promise<void>;
  stop(): void;
}

function httpStatus(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** The S3 client of a process, path-style, so that it serves S3, R2, MinIO and the development server alike. */
export function createObjectStore(settings: NonNullable<Config["objects"]>): ObjectStore {
  const { connectTimeoutMs, requestTimeoutMs, attempts, sockets } = LIMITS.objects;
  const { bucket } = settings;
  const client = new S3Client({
    region: settings.region,
    forcePathStyle: true,
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      httpAgent: { maxSockets: sockets },
      httpsAgent: { maxSockets: sockets },
    },
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
    ...(settings.credentials === null ? {} : { credentials: settings.credentials }),
  });

  async function ping(): Promise<void> {
    await client.send(new HeadBucketCommand({ Bucket: bucket }));
  }

  async function create(): Promise<void> {
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
    } catch (error) {
      // Another process made it first.
      if (!(error instanceof S3ServiceException) || error.name !== "BucketAlreadyOwnedByYou") throw error;
    }
  }

  return {
    client,
    bucket,
    async ensureBucket() {
      try {
        await ping();
      } catch (error) {
        if (httpStatus(error) !== 404) throw error;
        await create();
      }
    },
    ping,
    stop() {
      client.destroy();
    },
  };
}
