import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import {
  type ByteRange,
  type ByteSpan,
  head,
  type LookAsk,
  type ObjectRef,
  openRead,
} from "./object-reads.ts";
import { createObjectWriter, type ObjectWriter, type StoredObject } from "./object-writer.ts";
import type { ObjectStore } from "./objects.ts";

export { ChangedObject, ForbiddenObject, MissingObject } from "./object-errors.ts";
export type { ByteSpan, ObjectRef } from "./object-reads.ts";
export type { ObjectWriter, StoredObject } from "./object-writer.ts";

/**
 * Reads and writes objects of any size in bounded memory. Failures of object storage are retried; when that does not help,
 * ObjectsOutage (`isObjectsOutage`). A cancelled operation rejects with the signal's reason.
 */
export interface ObjectStreams {
  /** null: the object does not exist. @throws ChangedObject, ForbiddenObject */
  head(ref: ObjectRef, ask?: LookAsk): Promise<StoredObject | null>;
  /**
   * The bytes of one unchanged object, with back-pressure, over as many connections as it takes; fewer than requested where
   * the object ends earlier.
   * @throws MissingObject also when it ends before the first byte of `span`; ChangedObject, ForbiddenObject
   */
  openRead(ref: ObjectRef, span?: ByteSpan, cancelled?: AbortSignal): AsyncIterable<Buffer>;
  /** The same in one piece, within LIMITS.objects.operationMs. For ranges that fit into memory. */
  readRange(ref: ObjectRef, range: ByteRange, cancelled?: AbortSignal): Promise<Buffer>;
  /**
   * Writes an object of the deployment's own bucket, whole or not at all.
   * @param body an error of it ends the writing, and is thrown
   * @param expectedBytes approximate maximum: needed where it may exceed `parts` times `partBytes`, 80 GB
   */
  write(
    key: string,
    body: AsyncIterable<Uint8Array>,
    contentType: string,
    cancelled?: AbortSignal,
    expectedBytes?: number,
  ): Promise<StoredObject>;
  /** The same for callers that push bytes. Holds `partsInFlight` parts, by default LIMITS.objects.partsInFlight. */
  openWrite(
    key: string,
    contentType: string,
    cancelled?: AbortSignal,
    expectedBytes?: number,
    partsInFlight?: number,
  ): ObjectWriter;
}

const MIB = 1_048_576;

/** The part size, whole MiB, at which `expectedBytes` and a tenth more fit into the maximum number of parts. */
export function partBytesFor(expectedBytes: number): number {
  const { parts, partBytes } = LIMITS.objects;
  const needed = Math.ceil((expectedBytes * 1.1) / parts / MIB) * MIB;
  return Math.max(partBytes, needed);
}

export function createObjectStreams(store: ObjectStore, clock: Clock): ObjectStreams {
  const deps = { store, clock };
  const longDeps = { store: { ...store, client: store.readClient }, clock };

  async function collect(ref: ObjectRef, range: ByteRange, cancelled: AbortSignal): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of openRead(deps, ref, range, cancelled)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  const openWrite: ObjectStreams["openWrite"] = (
    key,
    contentType,
    cancelled,
    expectedBytes = 0,
    partsInFlight = LIMITS.objects.partsInFlight,
  ) => {
    const target = { key, contentType, partBytes: partBytesFor(expectedBytes), partsInFlight };
    return createObjectWriter(store, clock, target, cancelled);
  };

  return {
    head: (ref, ask) => head(deps, ref, ask),
    openRead: (ref, span, cancelled) => openRead(longDeps, ref, span, cancelled),
    readRange: (ref, range, cancelled) => store.within((signal) => collect(ref, range, signal), cancelled),
    openWrite,
    async write(key, body, contentType, cancelled, expectedBytes) {
      const writer = openWrite(key, contentType, cancelled, expectedBytes);
      try {
        for await (const piece of body) await writer.write(piece);
      } catch (error) {
        await writer.abort();
        throw error;
      }
      return writer.end();
    },
  };
}
