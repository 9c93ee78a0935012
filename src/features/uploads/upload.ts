import { LIMITS } from "../../config/limits/limits.ts";
import type { TierLimits } from "../../config/tiers.ts";
import { AppError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import type { ObjectStreams, StoredObject } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type Actor, canAccessMode, shareKey } from "../identity/actor.ts";
import { lockTeam } from "../identity/team-sql.ts";
import {
  extendUpload,
  findUpload,
  insertUpload,
  lockOpenUpload,
  type NewUpload,
  noteStored,
  refuseUpload,
  tallyUploads,
  type UploadExtension,
  type UploadRow,
  type UploadTally,
} from "./upload-sql.ts";

/** A file of a team, as it sees it. */
export interface Upload {
  id: string;
  livemode: boolean;
  filename: string;
  /** `open`: its bytes have not arrived. */
  status: "open" | "stored";
  /** Announced size, then the stored one; null: not known yet. */
  bytes: number | null;
  created_at: string;
  /** Until then an open one accepts its bytes; null: they have arrived. */
  expires_at: string | null;
  /** Time of its removal, unless a job still reads it. */
  kept_until: string;
  /** Jobs of it that have not been removed, up to LIMITS.uploads.jobsShown. */
  jobs: number;
}

/** @param retentionDays the retention of results */
export function renderUpload(row: UploadRow, retentionDays: number): Upload {
  const isOpen = row.status === "open";
  const keptUntilMs = isOpen
    ? row.expiresAt.getTime() + LIMITS.uploads.unfinishedMs
    : row.createdAt.getTime() + retentionDays * DAY_MS;
  return {
    id: row.id,
    livemode: row.livemode,
    filename: row.filename,
    status: row.status,
    bytes: row.bytes,
    created_at: row.createdAt.toISOString(),
    expires_at: isOpen ? row.expiresAt.toISOString() : null,
    kept_until: new Date(keptUntilMs).toISOString(),
    jobs: row.jobs,
  };
}

export function uploadNotFound(): AppError {
  return new AppError("not_found", "The team has no upload with this id.");
}

/** The team whose limits bound an upload. */
export type UploadHolder = Pick<Actor, "limits">;

export function uploadTooLarge({ limits }: UploadHolder): AppError {
  return new AppError("bulk_too_large", `A list of the team may have at most ${limits.bulkBytes} bytes.`);
}

/** The limit that the team would exceed with this one, in words; null: none. */
function excess(
  tally: UploadTally,
  { bytes }: Pick<NewUpload, "bytes">,
  { bulkBytes }: TierLimits,
): string | null {
  const { open, stored, deleted, lists } = LIMITS.uploads;
  if (tally.open >= open) return `A team may have at most ${open} unfinished uploads.`;
  if (tally.stored >= stored) return `A team may have at most ${stored} uploads: delete some.`;
  if (tally.deleted >= deleted)
    return `The team has ${deleted} deleted uploads that have not expired: wait until some expire.`;
  const most = lists * bulkBytes;
  if (tally.bytes + (bytes ?? bulkBytes) > most)
    return `All uploads of the team may have at most ${most} bytes, one of unknown size counts as ${bulkBytes}: delete some.`;
  return null;
}

/** @throws AppError `unauthorized` when the team is gone; `limit_reached` */
export function insertWithinLimit(
  sql: Database,
  { limits }: UploadHolder,
  upload: NewUpload,
): Promise<UploadRow> {
  return sql.begin(async (tx) => {
    if (!(await lockTeam(tx, upload.teamId)))
      throw new AppError("unauthorized", "The team has been deleted.");
    const detail = excess(await tallyUploads(tx, upload, limits.bulkBytes), upload, limits);
    if (detail !== null) throw new AppError("limit_reached", detail);
    return insertUpload(tx, upload);
  }, upload.teamId);
}

/**
 * Sets the expiry of an open upload to `validMs` from now, within LIMITS.uploads.openMs. One that has expired counts for
 * the team's limits again.
 * @throws AppError `unauthorized` when the team is gone; `not_found`, `limit_reached`
 */
export function extendWithinLimit(
  sql: Database,
  { limits }: UploadHolder,
  upload: UploadRow,
  validMs: number,
): Promise<UploadExtension> {
  return sql.begin(async (tx) => {
    if (!(await lockTeam(tx, upload.teamId)))
      throw new AppError("unauthorized", "The team has been deleted.");
    const open = await lockOpenUpload(tx, upload.id);
    if (open === null) throw uploadNotFound();
    const detail = open.isExpired
      ? excess(await tallyUploads(tx, upload, limits.bulkBytes), upload, limits)
      : null;
    if (detail !== null) throw new AppError("limit_reached", detail);
    const extension = await extendUpload(tx, upload.id, { validMs, openMs: LIMITS.uploads.openMs });
    if (extension === null)
      throw new AppError("not_found", "The upload has been open for too long: create a new one.");
    return extension;
  }, upload.teamId);
}

/**
 * Called before the parts of an open upload become a file. An expired upload no longer counted for the team's limits, and
 * must fit again. It counts from then on.
 * @throws AppError `unauthorized` when the team is gone; `limit_reached`
 */
export function ensureWithinLimit(sql: Database, { limits }: UploadHolder, upload: UploadRow): Promise<void> {
  return sql.begin(async (tx) => {
    if (!(await lockTeam(tx, upload.teamId)))
      throw new AppError("unauthorized", "The team has been deleted.");
    const open = await lockOpenUpload(tx, upload.id);
    if (open?.isExpired !== true) return;
    const detail = excess(await tallyUploads(tx, upload, limits.bulkBytes), upload, limits);
    if (detail !== null) throw new AppError("limit_reached", detail);
    const { presignedMs: validMs, openMs, unfinishedMs } = LIMITS.uploads;
    await extendUpload(tx, upload.id, { validMs, openMs: openMs + unfinishedMs + validMs });
  }, upload.teamId);
}

/** Another team's upload is not found, nor a live one by a test key. @throws AppError `not_found` */
export async function requireUpload(
  sql: Database,
  actor: Pick<Actor, "teamId" | "livemode">,
  id: string,
): Promise<UploadRow> {
  const row = isId("upl", id) ? await findUpload(sql, actor.teamId, id) : null;
  if (row === null || !canAccessMode(actor, row)) throw uploadNotFound();
  return row;
}

/**
 * Reads its current state in object storage and records it; null: nothing yet. An upload larger than the team's limit, and
 * than its announced or earlier size, is given up: it came by a URL that could not limit its size.
 * @throws AppError `not_found`, `bulk_too_large`
 */
export async function refreshFromStorage(
  sql: Database,
  streams: Pick<ObjectStreams, "head">,
  row: UploadRow,
  holder: UploadHolder,
): Promise<(UploadRow & StoredObject) | null> {
  const stored = await streams.head({ bucket: null, key: row.key }, { share: shareKey(row) });
  if (stored === null) return null;
  if (row.status === "stored" && row.etag === stored.etag) return { ...row, ...stored };
  if (stored.bytes > Math.max(holder.limits.bulkBytes, row.bytes ?? 0)) {
    await refuseUpload(sql, row.id);
    throw uploadTooLarge(holder);
  }
  const noted = await noteStored(sql, row.id, stored);
  if (noted === null) throw uploadNotFound();
  return { ...noted, ...stored };
}
