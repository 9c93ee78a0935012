import { setMaxListeners } from "node:events";
import {
  CreateBucketCommand,
  HeadBucketCommand,
  type S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { Config } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { createSemaphore, type Semaphore } from "../../platform/semaphore.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { createObjectClient } from "./object-client.ts";
import { createPrefixDeletion } from "./object-deletion.ts";
import { httpStatus } from "./object-errors.ts";

export { httpStatus, isObjectsOutage } from "./object-errors.ts";

export interface ObjectStore {
  /** Client for operations that end within `operationMs`. */
  client: S3Client;
  /** Client for reads that last as long as their reader: they must not take the sockets of others. */
  readClient: S3Client;
  /** Looks at objects and at parts of uploads wait here first, so that they alone never take all permits of `client`. */
  looks: Semaphore;
  bucket: string;
  /**
   * Runs one operation, with all attempts and the bodies of their responses, within LIMITS.objects.operationMs.
   * @param work passes the signal to each request that it sends
   * @param cancelled ends the operation at once, and rejects with its reason
   * @throws TimeoutError when time is up; errors of `work`
   */
  within<T>(work: (signal: AbortSignal) => Promise<T>, cancelled?: AbortSignal): Promise<T>;
  /** Creates the bucket when it is missing. Rejects when it belongs to another account or cannot be created. */
  ensureBucket(): Promise<void>;
  /** Resolves when the bucket answers; rejects when it does not. For readiness. */
  ping(): Promise<void>;
  /**
   * Deletes the objects below a prefix, at most LIMITS.objects.deletionPage, and multipart uploads in progress there. True
   * when nothing is left, except object versions. Rejects when an object could not be deleted.
   * @param spared objects with this key prefix are not deleted; there must be fewer than a page of them. Their multipart
   *   uploads are aborted.
   */
  deleteBelow(prefix: string, spared?: string): Promise<boolean>;
  stop(): void;
}

function operationTimeout(): Error {
  const error = new Error(`object storage did not answer within ${LIMITS.objects.operationMs} ms`);
  error.name = "TimeoutError";
  return error;
}

/**
 * Runs `work` until it ends or time is up; the reason of its signal tells which. Afterwards no listener or derived signal
 * is left on `cancelled`, which may live as long as a job. (Node.js retains the signals of `AbortSignal.any` while they
 * have listeners, and with them everything that was read.)
 */
async function runWithin<T>(
  clock: Clock,
  work: (signal: AbortSignal) => Promise<T>,
  cancelled: AbortSignal | undefined,
): Promise<T> {
  cancelled?.throwIfAborted();
  const ending = new AbortController();
  const { signal } = ending;
  const cancel = () => ending.abort(cancelled?.reason);
  const late = clock.after(LIMITS.objects.operationMs, () => ending.abort(operationTimeout()));
  if (cancelled !== undefined) {
    // Many operations of one job run at once.
    setMaxListeners(0, cancelled);
    cancelled.addEventListener("abort", cancel, { once: true });
  }
  try {
    return await new Promise<T>((resolve, reject) => {
      // Rejects whatever the client does with the signal and a half-read body.
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      work(signal).then(resolve, reject);
    });
  } finally {
    late.cancel();
    cancelled?.removeEventListener("abort", cancel);
  }
}

/** The object storage client of a process. */
export function createObjectStore(settings: NonNullable<Config["objects"]>, clock: Clock): ObjectStore {
  const { operations, reads, looks } = LIMITS.objects;
  const { bucket } = settings;
  const client = createObjectClient(settings, operations, clock);
  const readClient = createObjectClient(settings, reads, clock);

  const within: ObjectStore["within"] = (work, cancelled) => runWithin(clock, work, cancelled);

  async function ping(): Promise<void> {
    await within((abortSignal) => client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal }));
  }

  async function create(): Promise<void> {
    try {
      await within((abortSignal) =>
        client.send(new CreateBucketCommand({ Bucket: bucket }), { abortSignal }),
      );
    } catch (error) {
      // Another process created it first.
      if (!(error instanceof S3ServiceException) || error.name !== "BucketAlreadyOwnedByYou") throw error;
    }
  }

  return {
    client,
    readClient,
    looks: createSemaphore(looks, "object storage", clock),
    bucket,
    within,
    async ensureBucket() {
      try {
        await ping();
      } catch (error) {
        if (httpStatus(error) !== 404) throw error;
        await create();
      }
    },
    ping,
    deleteBelow: createPrefixDeletion({ client, bucket, within }),
    stop() {
      client.destroy();
      readClient.destroy();
    },
  };
}
