import type { Readable } from "node:stream";
import { GetObjectCommand, type GetObjectCommandOutput, HeadObjectCommand } from "@aws-sdk/client-s3";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import {
  ChangedObject,
  ForbiddenObject,
  httpStatus,
  isObjectsOutage,
  MissingObject,
} from "./object-errors.ts";
import { createRetryBackoff, type RetryBackoff } from "./object-retries.ts";
import type { ObjectStore } from "./objects.ts";

/** An object: in the deployment's own bucket, or in a granted one. */
export interface ObjectRef {
  /** null: the deployment's own bucket. */
  bucket: string | null;
  key: string;
  /** As object storage wrote it, quotes included: the read fails for any other version of the object. */
  etag?: string;
}

export interface ByteSpan {
  /** First byte to read; default 0. */
  firstByte?: number;
  /** Maximum bytes; absent: to the end. */
  bytes?: number;
}

/** Part of an object that must exist: `firstByte` from 0, at least one byte. */
export interface ByteRange {
  firstByte: number;
  bytes: number;
}

export interface ReadDeps {
  store: Pick<ObjectStore, "client" | "bucket" | "within">;
  clock: Clock;
}

export interface HeadDeps {
  store: Pick<ObjectStore, "client" | "bucket" | "within" | "looks">;
}

/** An error of the object itself or of our access to it; null: an error of object storage, or of the network. */
function refusal(error: unknown, ref: ObjectRef): Error | null {
  if (error instanceof ChangedObject) return error;
  const status = httpStatus(error);
  if (status === undefined || isObjectsOutage(error)) return null;
  const cause = { cause: error };
  if (status === 404 || status === 416) return new MissingObject("no such object, or no such bytes", cause);
  if (status === 412) return new ChangedObject("the object was replaced", cause);
  if (ref.bucket !== null && (status === 400 || status === 401 || status === 403))
    return new ForbiddenObject("object storage denies reading the object", cause);
  return error as Error;
}

function silenceTimeout(): Error {
  const error = new Error(`object storage said nothing for ${LIMITS.objects.silenceMs} ms`);
  error.name = "TimeoutError";
  return error;
}

/** A body's pieces. Throws as soon as the body has been silent for too long while a reader waits. */
async function* piecesOf(body: Readable, clock: Clock, cancelled?: AbortSignal): AsyncGenerator<Buffer> {
  const cancel = () => body.destroy(cancelled?.reason as Error);
  cancelled?.addEventListener("abort", cancel, { once: true });
  const pieces: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const silence = clock.after(LIMITS.objects.silenceMs, () => body.destroy(silenceTimeout()));
      const step = await pieces.next().finally(() => silence.cancel());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    cancelled?.removeEventListener("abort", cancel);
    body.destroy();
  }
}

/** The position of a read. */
interface Position {
  /** The next byte. */
  at: number;
  /** Index after the last wanted byte; null: the end of the object, which the first response reveals. */
  end: number | null;
  etag: string | undefined;
}

/** One request for the remaining bytes. @returns its body, and the byte at which it ends */
async function ask({ store }: ReadDeps, ref: ObjectRef, position: Position, cancelled?: AbortSignal) {
  const { at, end, etag } = position;
  const command = new GetObjectCommand({
    Bucket: ref.bucket ?? store.bucket,
    Key: ref.key,
    // An empty object has no range.
    ...(at === 0 && end === null ? {} : { Range: `bytes=${at}-${end === null ? "" : end - 1}` }),
    ...(etag === undefined ? {} : { IfMatch: etag }),
  });
  const answer = await store.within((abortSignal) => store.client.send(command, { abortSignal }), cancelled);
  const body = answer.Body as Readable | undefined;
  try {
    const ending = endOf(answer, at, command.input.Range !== undefined);
    // For stores that do not know If-Match.
    if (etag !== undefined && answer.ETag !== undefined && answer.ETag !== etag)
      throw new ChangedObject("the object was replaced");
    return { body, end: ending, etag: answer.ETag };
  } catch (error) {
    body?.destroy();
    throw error;
  }
}

function endOf(answer: GetObjectCommandOutput, at: number, ranged: boolean): number {
  const range = /^bytes (\d+)-(\d+)\//.exec(answer.ContentRange ?? "");
  if (ranged && (range === null || Number(range[1]) !== at)) throw new Error("object storage ignores ranges");
  if (answer.ContentLength === undefined) throw new Error("object storage sent no content length");
  return at + answer.ContentLength;
}

/** Reads on from `position` over one connection and advances it. @throws when the connection ends too early */
async function* readOn(
  deps: ReadDeps,
  ref: ObjectRef,
  position: Position,
  failures: RetryBackoff,
  cancelled?: AbortSignal,
): AsyncGenerator<Buffer> {
  const { body, end, etag } = await ask(deps, ref, position, cancelled);
  position.end = end;
  position.etag ??= etag;
  if (body === undefined) return;
  for await (const piece of piecesOf(body, deps.clock, cancelled)) {
    position.at += piece.length;
    failures.reset();
    yield piece;
  }
}

/**
 * The bytes of an object, with back-pressure: at most one connection's buffers are held. When a connection breaks or falls
 * silent, also because the reader was slow, another continues at the same byte of the same object.
 *
 * @throws MissingObject, ChangedObject, ForbiddenObject; ObjectsOutage after LIMITS.objects.tries in a row without a byte
 */
export async function* openRead(
  deps: ReadDeps,
  ref: ObjectRef,
  { firstByte = 0, bytes }: ByteSpan = {},
  cancelled?: AbortSignal,
): AsyncGenerator<Buffer> {
  const end = bytes === undefined ? null : firstByte + bytes;
  const position: Position = { at: firstByte, end, etag: ref.etag };
  const failures = createRetryBackoff(deps.clock, cancelled);
  while (position.end === null || position.at < position.end) {
    let broken: unknown = new Error("the connection ended too early");
    try {
      yield* readOn(deps, ref, position, failures, cancelled);
      if (position.at === position.end) return;
    } catch (error) {
      broken = error;
    }
    cancelled?.throwIfAborted();
    await failures.waitOrThrow(broken, refusal(broken, ref));
  }
}

/** Options of a look at an object's state. */
export interface LookAsk {
  /** Whose turn it uses (`Semaphore`): a team's share (`shareKey`); absent: one for all such callers. */
  share?: string;
  cancelled?: AbortSignal;
}

/** @returns null when the object does not exist. @throws ChangedObject, ForbiddenObject, SemaphoreFull */
export async function head(
  { store }: HeadDeps,
  ref: ObjectRef,
  { share, cancelled }: LookAsk = {},
): Promise<{ bytes: number; etag: string } | null> {
  const command = new HeadObjectCommand({
    Bucket: ref.bucket ?? store.bucket,
    Key: ref.key,
    ...(ref.etag === undefined ? {} : { IfMatch: ref.etag }),
  });
  try {
    const { ContentLength, ETag } = await store.within(async (abortSignal) => {
      const end = await store.looks.acquire(abortSignal, share);
      return store.client.send(command, { abortSignal }).finally(end);
    }, cancelled);
    if (ContentLength === undefined || ETag === undefined)
      throw new Error("object storage sent no size or no ETag");
    return { bytes: ContentLength, etag: ETag };
  } catch (error) {
    const refused = refusal(error, ref);
    if (refused instanceof MissingObject) return null;
    throw refused ?? error;
  }
}
