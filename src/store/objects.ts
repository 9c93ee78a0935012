import { setMaxListeners } from "node:events";
import {
  CreateBucketCommand,
  HeadBucketCommand,
  type S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import { createObjectClient } from "./object-client.ts";
import { createDeletion } from "./object-deletion.ts";
import { httpStatus } from "./object-errors.ts";
import { createTurns, type Turns } from "./turns.ts";

export { httpStatus, isObjectsOutage } from "./object-errors.ts";

export interface ObjectStore {
  /** For what ends within `operationMs`. */
  client: S3Client;
  /** For reads that last as long as somebody takes what is read: those keep nobody else from a socket. */
  readClient: S3Client;
  /** Whoever looks whether an object is there waits here first, so that looks alone never take all turns of `client`. */
  looks: Turns;
  bucket: string;
  /**
   * One operation, with all its attempts and the bodies of their answers, within LIMITS.objects.operationMs.
   * @param work hands the signal to each request that it sends
   * @param cancelled ends it at once; rejects with its reason
   * @throws TimeoutError when time is up; what `work` throws
   */
  within<T>(work: (signal: AbortSignal) => Promise<T>, cancelled?: AbortSignal): Promise<T>;
  /** Makes the bucket when it is missing. Rejects when it belongs to somebody else or cannot be made. */
  ensureBucket(): Promise<void>;
  /** Resolves when the bucket answers; rejects when it does not. For readiness. */
  ping(): Promise<void>;
  /**
   * Deletes what is below a prefix, LIMITS.objects.deletionPage objects at most, and what is being uploaded there in
   * parts. True when nothing is left of it, of versions apart. Rejects when an object could not be deleted.
   * @param spared objects whose keys begin so stay, fewer than a page; what is being uploaded there in parts does not
   */
  deleteBelow(prefix: string, spared?: string): Promise<boolean>;
  stop(): void;
}

function tooLate(): Error {
  const error = new Error(`object storage did not answer within ${LIMITS.objects.operationMs} ms`);
  error.name = "TimeoutError";
  return error;
}

/**
 * Runs `work` until it ends or time is up, with a signal that says which. What is over leaves nothing behind at
 * `cancelled`, which may live as long as a job: neither a listener nor a signal made of it. (What
 * `AbortSignal.any` makes is kept for good while anybody listens to it, and with it whatever was read.)
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
  const late = clock.after(LIMITS.objects.operationMs, () => ending.abort(tooLate()));
  if (cancelled !== undefined) {
    // Many operations of one job are under way at once.
    setMaxListeners(0, cancelled);
    cancelled.addEventListener("abort", cancel, { once: true });
  }
  try {
    return await new Promise<T>((resolve, reject) => {
      // Whatever the client makes of the signal, and of a body that is half read.
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      work(signal).then(resolve, reject);
    });
  } finally {
    late.cancel();
    cancelled?.removeEventListener("abort", cancel);
  }
}

/** The object storage of a process. */
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
      // Another process made it first.
      if (!(error instanceof S3ServiceException) || error.name !== "BucketAlreadyOwnedByYou") throw error;
    }
  }

  return {
    client,
    readClient,
    looks: createTurns(looks, "object storage", clock),
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
    deleteBelow: createDeletion({ client, bucket, within }),
    stop() {
      client.destroy();
      readClient.destroy();
    },
  };
}
