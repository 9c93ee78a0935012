import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { createTeamSlots, tooMany } from "../../platform/team-slots.ts";
import { MissingObject, type ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import { partsOf, type UploadPart } from "./parts.ts";
import { extendWithinLimit, refreshFromStorage, requireUpload } from "./upload.ts";
import type { StoredPart, UploadObjects } from "./upload-objects.ts";

/** A part of an upload that a client can send, or has sent. */
export interface OpenPart {
  part_number: number;
  first_byte: number;
  bytes: number;
  /** Object storage has it, in its size. */
  sent: boolean;
  /** null: nothing is left to be sent. */
  url: string | null;
}

export interface OpenParts {
  data: OpenPart[];
  /** Until then the URLs are valid. */
  expires_at: string;
}

/**
 * The parts of an open upload, with new URLs for those that are missing. The upload expires later for it.
 * @throws AppError `not_found`, also when it is stored or not in parts; `limit_reached`, `bulk_too_large`, `rate_limited`,
 *   `overloaded`
 */
export type ListUploadParts = (actor: Actor, uploadId: string) => Promise<OpenParts>;

/**
 * Runs what signs or lists the parts of an upload, which takes turns on the event loop.
 * @throws AppError `rate_limited`, `overloaded` when too much of that is under way, of the share or in all
 */
export type PartSlots = <T>(actor: Actor, work: () => Promise<T>) => Promise<T>;

export function createPartSlots(): PartSlots {
  const { partLists, partListsPerShare, partListsKept } = LIMITS.uploads;
  const slots = createTeamSlots(
    { all: partLists, perShare: partListsPerShare, kept: partListsKept },
    tooMany("requests for parts of uploads", partListsPerShare),
  );
  return async (actor, work) => {
    const giveBack = slots.take(shareKey(actor));
    return work().finally(giveBack);
  };
}

/** A multipart upload in object storage. */
interface MultipartPlace {
  key: string;
  multipartId: string;
}

/** A URL for each part. */
export async function signParts(
  objects: Pick<UploadObjects, "presignParts">,
  { key, multipartId }: MultipartPlace,
  parts: readonly UploadPart[],
  validMs: number,
  share: string,
): Promise<(Omit<OpenPart, "sent" | "url"> & { url: string })[]> {
  const urls = await objects.presignParts(key, multipartId, parts, validMs, share);
  return parts.map((part, i) => ({
    part_number: part.number,
    url: urls[i] ?? "",
    first_byte: part.firstByte,
    bytes: part.bytes,
  }));
}

function withoutParts(why: string): AppError {
  return new AppError("not_found", `The upload awaits no parts: ${why}`);
}

const STORED = "its bytes are stored.";

export function createListParts(
  sql: Database,
  { objects, streams }: { objects: UploadObjects; streams: Pick<ObjectStreams, "head"> },
  inPartSlot: PartSlots,
): ListUploadParts {
  /** Parts that object storage has, by number; null: it knows of no such upload (any more). */
  async function sentParts(
    { key, multipartId }: MultipartPlace,
    share: string,
  ): Promise<Map<number, StoredPart> | null> {
    try {
      const sent = await objects.listParts(key, multipartId, share);
      return new Map(sent.map((part) => [part.number, part]));
    } catch (error) {
      if (error instanceof MissingObject) return null;
      throw error;
    }
  }

  async function list(actor: Actor, id: string): Promise<OpenParts> {
    const row = await requireUpload(sql, actor, id);
    const { key, multipartId, bytes } = row;
    if (row.status === "stored") throw withoutParts(STORED);
    const parts = partsOf(bytes ?? 0, row.partBytes);
    if (multipartId === null || parts === null) throw withoutParts("it is sent in one request.");
    const place = { key, multipartId };
    const sent = await sentParts(place, shareKey(row));
    if (sent === null) {
      const stored = await refreshFromStorage(sql, streams, row, actor);
      throw withoutParts(stored === null ? "they have been removed. Create a new upload." : STORED);
    }
    const wantedMs = await objects.validMs(LIMITS.uploads.presignedMs);
    const { expiresAt, validMs } = await extendWithinLimit(sql, actor, row, wantedMs);
    const isSent = (part: UploadPart) => sent.get(part.number)?.bytes === part.bytes;
    const missing = parts.filter((part) => !isSent(part));
    const signed = await signParts(objects, place, missing, validMs, shareKey(row));
    const urls = new Map(signed.map(({ part_number, url }) => [part_number, url]));
    return {
      data: parts.map((part) => ({
        part_number: part.number,
        first_byte: part.firstByte,
        bytes: part.bytes,
        sent: isSent(part),
        url: urls.get(part.number) ?? null,
      })),
      expires_at: expiresAt.toISOString(),
    };
  }

  return (actor, id) => inPartSlot(actor, () => list(actor, id));
}
