import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { Clock } from "../../platform/time/clock.ts";
import { httpStatus, isObjectsOutage } from "./object-errors.ts";
import { head } from "./object-reads.ts";
import { createRetryBackoff } from "./object-retries.ts";
import type { ObjectStore } from "./objects.ts";

export type WriteRequests = ReturnType<typeof createWriteRequests>;

/** The requests of a write, each retried while object storage fails. */
export function createWriteRequests(
  store: ObjectStore,
  clock: Clock,
  { key: Key, contentType: ContentType }: { key: string; contentType: string },
  cancelled: AbortSignal,
) {
  const { client, bucket: Bucket } = store;

  async function repeated<T>(send: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    const failures = createRetryBackoff(clock, cancelled);
    for (;;) {
      try {
        return await store.within(send, cancelled);
      } catch (error) {
        cancelled.throwIfAborted();
        await failures.waitOrThrow(error, isObjectsOutage(error) ? null : (error as Error));
      }
    }
  }

  /** The answer was lost: the retry finds no upload any more, but the object is complete. */
  async function completedBefore(error: unknown, bytes: number): Promise<string> {
    if (httpStatus(error) !== 404) throw error;
    const found = await head({ store }, { bucket: null, key: Key }, { cancelled });
    if (found?.bytes !== bytes) throw error;
    return found.etag;
  }

  return {
    async put(Body: Uint8Array): Promise<string> {
      const command = new PutObjectCommand({ Bucket, Key, Body, ContentType });
      const { ETag = "" } = await repeated((abortSignal) => client.send(command, { abortSignal }));
      return ETag;
    },
    async begin(): Promise<string> {
      const command = new CreateMultipartUploadCommand({ Bucket, Key, ContentType });
      const { UploadId } = await repeated((abortSignal) => client.send(command, { abortSignal }));
      if (UploadId === undefined) throw new Error("object storage started an upload without an id");
      return UploadId;
    },
    async part(UploadId: string, PartNumber: number, Body: Uint8Array): Promise<string> {
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body });
      const { ETag = "" } = await repeated((abortSignal) => client.send(command, { abortSignal }));
      return ETag;
    },
    async complete(UploadId: string, etags: readonly string[], bytes: number): Promise<string> {
      const Parts = etags.map((ETag, i) => ({ PartNumber: i + 1, ETag }));
      const command = new CompleteMultipartUploadCommand({
        Bucket,
        Key,
        UploadId,
        MultipartUpload: { Parts },
      });
      try {
        const { ETag = "" } = await repeated((abortSignal) => client.send(command, { abortSignal }));
        return ETag;
      } catch (error) {
        return completedBefore(error, bytes);
      }
    },
    /** Not cancellable: it runs after a cancellation. The clean-up removes whatever it fails to remove. */
    async remove(UploadId: string): Promise<void> {
      const command = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
      await store.within((abortSignal) => client.send(command, { abortSignal })).catch(() => {});
    },
  };
}
