import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { httpStatus, isObjectsOutage } from "./object-errors.ts";
import { head } from "./object-reads.ts";
import { createRetryBackoff } from "./object-retries.ts";
import type { ObjectStore } from "./objects.ts";

export interface StoredObject {
  bytes: number;
  /** As object storage wrote it, quotes included. */
  etag: string;
}

/**
 * Writes one object piece by piece, whole or not at all. One call at a time. After a failed call all later ones fail alike,
 * and the written parts are removed.
 */
export interface ObjectWriter {
  /**
   * Takes the bytes, which the caller may reuse when it resolves: at once while there is room, else when object storage has
   * taken enough earlier bytes.
   * @throws ObjectsOutage; the reason of the cancellation; Error when the object would have too many parts
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the object is stored. @throws as `write` */
  end(): Promise<StoredObject>;
  /** Gives up and removes the written parts. Idempotent, without effect on a finished object; never rejects. */
  abort(): Promise<void>;
}

export interface WriteTarget {
  key: string;
  contentType: string;
  /** Size of one part. */
  partBytes: number;
  /** Number of parts held. */
  partsInFlight: number;
}

const gaveUp = () => new Error("writing the object was aborted");

/** The requests of a write, each retried while object storage fails. */
function createRequests(
  store: ObjectStore,
  clock: Clock,
  { key: Key, contentType: ContentType }: WriteTarget,
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
    const found = await head({ store }, { bucket: null, key: Key }, cancelled);
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

/** A fixed number of buffers of one size, used again and again. */
function createBuffers(count: number, bytes: number) {
  const free: Buffer[] = [];
  const waiting: ((buffer: Buffer) => void)[] = [];
  let made = 0;
  return {
    /** Waits while all are in use. */
    take(): Promise<Buffer> | Buffer {
      const buffer = free.pop();
      if (buffer !== undefined) return buffer;
      if (made < count) {
        made++;
        return Buffer.allocUnsafeSlow(bytes);
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    give(buffer: Buffer): void {
      const next = waiting.shift();
      if (next) next(buffer);
      else free.push(buffer);
    },
  };
}

export function createObjectWriter(
  store: ObjectStore,
  clock: Clock,
  target: WriteTarget,
  cancelled?: AbortSignal,
): ObjectWriter {
  const stop = new AbortController();
  const signal = cancelled === undefined ? stop.signal : AbortSignal.any([stop.signal, cancelled]);
  const requests = createRequests(store, clock, target, signal);
  const buffers = createBuffers(target.partsInFlight, target.partBytes);
  const etags: string[] = [];
  const sending = new Set<Promise<void>>();
  let upload: Promise<string> | null = null;
  let filling: Buffer | null = null;
  let filled = 0;
  let bytes = 0;
  let done = false;
  let aborting: Promise<void> | null = null;

  function fail(error: unknown): void {
    if (!signal.aborted) stop.abort(error);
  }

  /** Sends `filling`; its buffer is free again once it is sent. */
  function flush(): void {
    const buffer = filling;
    if (buffer === null) return;
    const number = etags.push("");
    if (number > LIMITS.objects.parts) throw new Error("the object has too many parts");
    const content = buffer.subarray(0, filled);
    filling = null;
    filled = 0;
    upload ??= requests.begin();
    const sent = upload
      .then((id) => requests.part(id, number, content))
      .then((etag) => {
        etags[number - 1] = etag;
      })
      .catch(fail)
      .finally(() => {
        buffers.give(buffer);
        sending.delete(sent);
      });
    sending.add(sent);
  }

  async function take(pieces: Uint8Array): Promise<void> {
    for (let at = 0; at < pieces.length; ) {
      signal.throwIfAborted();
      if (filling !== null && filled === filling.length) flush();
      filling ??= await buffers.take();
      signal.throwIfAborted();
      const piece = pieces.subarray(at, at + filling.length - filled);
      filling.set(piece, filled);
      filled += piece.length;
      bytes += piece.length;
      at += piece.length;
    }
  }

  async function finish(): Promise<StoredObject> {
    signal.throwIfAborted();
    if (upload === null) {
      const etag = await requests.put(filling?.subarray(0, filled) ?? new Uint8Array(0));
      return { bytes, etag };
    }
    flush();
    await Promise.all(sending);
    signal.throwIfAborted();
    const id = await upload;
    return { bytes, etag: await requests.complete(id, etags, bytes) };
  }

  async function abort(): Promise<void> {
    fail(gaveUp());
    await Promise.all(sending);
    const id = await upload?.catch(() => undefined);
    if (id !== undefined) await requests.remove(id);
  }

  async function orAbort<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : error;
      aborting ??= abort();
      await aborting;
      throw reason;
    }
  }

  return {
    write: (pieces) => orAbort(take(pieces)),
    async end() {
      const stored = await orAbort(finish());
      done = true;
      return stored;
    },
    async abort() {
      if (!done) aborting ??= abort();
      await aborting;
    },
  };
}
