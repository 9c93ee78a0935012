import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { ObjectStreams, StoredObject } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import { createReceiveSlots } from "./receive-slots.ts";
import { insertWithinLimit, renderUpload, type Upload, uploadNotFound, uploadTooLarge } from "./upload.ts";
import { giveUpUpload, noteStored, uploadKey } from "./upload-sql.ts";

/** A file being received. */
export interface FileBody {
  /** Size that the client announced; null: not announced. */
  readonly declaredBytes: number | null;
  /** Yields the file in pieces; throws `tooLong` at once, or when the file exceeds the limit. */
  read(limitBytes: number, tooLong: () => AppError): AsyncIterable<Uint8Array>;
}

/**
 * Receives a file and passes it on to object storage, no faster than that accepts it: all of it, or nothing.
 * @param cancelled when the client has gone
 * @throws AppError `unavailable_in_tier`, `bulk_too_large`, `limit_reached`, `rate_limited`, `overloaded`
 */
export type ReceiveUpload = (
  actor: Actor,
  filename: string,
  body: FileBody,
  cancelled: AbortSignal,
) => Promise<Upload>;

const OBJECT_TYPE = "application/octet-stream";

/** Stores all of it, or nothing. */
async function storeWhole(
  writer: ReturnType<ObjectStreams["openWrite"]>,
  pieces: AsyncIterable<Uint8Array>,
): Promise<StoredObject> {
  try {
    for await (const piece of pieces) await writer.write(piece);
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return writer.end();
}

export function createReceiveUpload(deps: {
  sql: Database;
  streams: Pick<ObjectStreams, "openWrite">;
  clock: Clock;
  retentionDays: number;
}): ReceiveUpload {
  const { sql, streams, clock } = deps;
  const { streamMs, partsInFlight } = LIMITS.uploads;
  const places = createReceiveSlots(LIMITS.uploads);

  async function receive(
    actor: Actor,
    filename: string,
    pieces: AsyncIterable<Uint8Array>,
    bytes: number | null,
    cancelled: AbortSignal,
  ): Promise<Upload> {
    const { teamId, livemode } = actor;
    const id = newId("upl");
    const key = uploadKey(teamId, id);
    // Before the object: if the process is killed, the row leads to the remains.
    await insertWithinLimit(sql, actor, {
      id,
      teamId,
      livemode,
      filename,
      key,
      bytes,
      partBytes: null,
      expiresInMs: streamMs,
    });
    let stored: StoredObject;
    try {
      const expectedBytes = bytes ?? actor.limits.bulkBytes;
      stored = await storeWhole(
        streams.openWrite(key, OBJECT_TYPE, cancelled, expectedBytes, partsInFlight),
        pieces,
      );
    } catch (error) {
      // Otherwise it counts as open until it expires.
      await giveUpUpload(sql, id).catch(() => {});
      throw error;
    }
    const row = await noteStored(sql, id, stored);
    if (row === null) throw uploadNotFound();
    return renderUpload(row, deps.retentionDays);
  }

  return async (actor, filename, body, gone) => {
    const pieces = body.read(actor.limits.bulkBytes, () => uploadTooLarge(actor));
    const leave = places.take(shareKey(actor));
    const tooSlow = new AbortController();
    const late = clock.after(streamMs, () =>
      tooSlow.abort(new AppError("bad_request", "The file took too long.")),
    );
    try {
      const cancelled = AbortSignal.any([gone, tooSlow.signal]);
      return await receive(actor, filename, pieces, body.declaredBytes, cancelled);
    } finally {
      late.cancel();
      leave();
    }
  };
}
