import type { Readable } from "node:stream";
import { GetObjectCommand, type GetObjectCommandOutput, HeadObjectCommand } from "@aws-sdk/client-s3";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import {
  ChangedObject,
  ForbiddenObject,
  httpStatus,
  isObjectsOutage,
  MissingObject,
} from "./object-errors.ts";
import { type Failures, failuresInARow } from "./object-retries.ts";
import type { ObjectStore } from "./objects.ts";

/** An object: of the deployment's own bucket, or of one that somebody granted. */
export interface ObjectRef {
  /** null: the deployment's own. */
  bucket: string | null;
  key: string;
  /** As object storage wrote it, quotes included: only this very object is meant. */
  etag?: string;
}

export interface ByteSpan {
  /** From 0. */
  firstByte?: number;
  /** So many at most; absent: to the end. */
  bytes?: number;
}

export interface ReadDeps {
  store: Pick<ObjectStore, "client" | "bucket" | "within">;
  clock: Clock;
}

export interface LookDeps {
  store: Pick<ObjectStore, "client" | "bucket" | "within" | "looks">;
}

/** What is wrong with the object itself, or with our access to it; null: with object storage, or with the way to it. */
function refusal(error: unknown, ref: ObjectRef): Error | null {
  if (error instanceof ChangedObject) return error;
  const status = httpStatus(error);
  if (status === undefined || isObjectsOutage(error)) return null;
  const cause = { cause: error };
  if (status === 404 || status === 416) return new MissingObject("no such object, or no such bytes", cause);
  if (status === 412) return new ChangedObject("the object is another one", cause);
  if (ref.bucket !== null && (status === 400 || status === 401 || status === 403))
    return new ForbiddenObject("object storage does not let us read the object", cause);
  return error as Error;
}

function silent(): Error {
  const error = new Error(`object storage said nothing for ${LIMITS.objects.silenceMs} ms`);
  error.name = "TimeoutError";
  return error;
}

/** A body's pieces; an error as soon as it has been silent for too long while somebody waits for it. */
async function* piecesOf(body: Readable, clock: Clock, cancelled?: AbortSignal): AsyncGenerator<Buffer> {
  const cancel = () => body.destroy(cancelled?.reason as Error);
  cancelled?.addEventListener("abort", cancel, { once: true });
  const pieces: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const silence = clock.after(LIMITS.objects.silenceMs, () => body.destroy(silent()));
      const step = await pieces.next().finally(() => silence.cancel());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    cancelled?.removeEventListener("abort", cancel);
    body.destroy();
  }
}

/** Where a read stands. */
interface Position {
  /** Of the next byte. */
  at: number;
  /** After the last wanted byte; null: the end of the object, which the first answer tells. */
  end: number | null;
  etag: string | undefined;
}

/** One request for what is left. @returns its body, and the byte at which that ends */
async function ask({ store }: ReadDeps, ref: ObjectRef, position: Position, cancelled?: AbortSignal) {
  const { at, end, etag } = position;
  const command = new GetObjectCommand({
    Bucket: ref.bucket ?? store.bucket,
    Key: ref.key,
    // Of an empty object no range can be had.
    ...(at === 0 && end === null ? {} : { Range: `bytes=${at}-${end === null ? "" : end - 1}` }),
    ...(etag === undefined ? {} : { IfMatch: etag }),
  });
  const answer = await store.within((abortSignal) => store.client.send(command, { abortSignal }), cancelled);
  const body = answer.Body as Readable | undefined;
  try {
    const ending = endOf(answer, at, command.input.Range !== undefined);
    // Where the store does not know If-Match.
    if (etag !== undefined && answer.ETag !== undefined && answer.ETag !== etag)
      throw new ChangedObject("the object is another one");
    return { body, end: ending, etag: answer.ETag };
  } catch (error) {
    body?.destroy();
    throw error;
  }
}

function endOf(answer: GetObjectCommandOutput, at: number, ranged: boolean): number {
  const range = /^bytes (\d+)-(\d+)\//.exec(answer.ContentRange ?? "");
  if (ranged && (range === null || Number(range[1]) !== at)) throw new Error("object storage ignores ranges");
  if (answer.ContentLength === undefined) throw new Error("object storage did not say how much comes");
  return at + answer.ContentLength;
}

/** Reads on from `position` over one connection, moving it along. @throws when the connection ends too early */
async function* readOn(
  deps: ReadDeps,
  ref: ObjectRef,
  position: Position,
  failures: Failures,
  cancelled?: AbortSignal,
): AsyncGenerator<Buffer> {
  const { body, end, etag } = await ask(deps, ref, position, cancelled);
  position.end = end;
  position.etag ??= etag;
  if (body === undefined) return;
  for await (const piece of piecesOf(body, deps.clock, cancelled)) {
    position.at += piece.length;
    failures.none();
    yield piece;
  }
}

/**
 * The bytes of an object, with back-pressure: no more is held than one connection's buffers. A connection that breaks or
 * falls silent, also because the reader was slow, is followed by another that goes on where it stopped, in the same
 * object.
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
  const failures = failuresInARow(deps.clock, cancelled);
  while (position.end === null || position.at < position.end) {
    let broken: unknown = new Error("the connection ended too early");
    try {
      yield* readOn(deps, ref, position, failures, cancelled);
      if (position.at === position.end) return;
    } catch (error) {
      broken = error;
    }
    cancelled?.throwIfAborted();
    await failures.another(broken, refusal(broken, ref));
  }
}

/** @returns null when there is no such object. @throws ChangedObject, ForbiddenObject, TurnsTaken */
export async function head(
  { store }: LookDeps,
  ref: ObjectRef,
  cancelled?: AbortSignal,
): Promise<{ bytes: number; etag: string } | null> {
  const command = new HeadObjectCommand({
    Bucket: ref.bucket ?? store.bucket,
    Key: ref.key,
    ...(ref.etag === undefined ? {} : { IfMatch: ref.etag }),
  });
  try {
    const { ContentLength, ETag } = await store.within(async (abortSignal) => {
      const end = await store.looks.take(abortSignal);
      return store.client.send(command, { abortSignal }).finally(end);
    }, cancelled);
    if (ContentLength === undefined || ETag === undefined)
      throw new Error("object storage told neither size nor ETag");
    return { bytes: ContentLength, etag: ETag };
  } catch (error) {
    const refused = refusal(error, ref);
    if (refused instanceof MissingObject) return null;
    throw refused ?? error;
  }
}
