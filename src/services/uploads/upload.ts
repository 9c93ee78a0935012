import { AppError } from "../../core/errors.ts";
import { isId } from "../../core/ids.ts";
import { LIMITS } from "../../core/limits.ts";
import type { ObjectStreams, StoredObject } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import { lockTeam } from "../../store/teams.ts";
import {
  countOpenUploads,
  findUpload,
  insertUpload,
  type NewUpload,
  noteStored,
  type UploadRow,
} from "../../store/uploads.ts";
import type { Actor } from "../actor.ts";

/** A file of a team, as it sees it. */
export interface Upload {
  id: string;
  filename: string;
  /** `open`: its bytes are awaited. */
  status: "open" | "stored";
  /** As announced, then as stored; null: not known yet. */
  bytes: number | null;
  created_at: string;
  /** Until then the bytes of an open one are taken. */
  expires_at: string;
}

export function renderUpload(row: UploadRow): Upload {
  return {
    id: row.id,
    filename: row.filename,
    status: row.status,
    bytes: row.bytes,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  };
}

export function noUpload(): AppError {
  return new AppError("not_found", "There is no such upload.");
}

/** @throws AppError `unavailable_in_tier` */
export function checkTier({ limits, tier }: Actor): void {
  if (limits.bulkBytes > 0) return;
  throw new AppError("unavailable_in_tier", `Bulk needs the tier starter or above, the team has ${tier}.`);
}

export function tooLarge({ limits }: Actor): AppError {
  return new AppError("bulk_too_large", `A list of the team may have ${limits.bulkBytes} bytes.`);
}

/** @throws AppError `unauthorized` when the team is gone; `limit_reached` */
export function insertWithinLimit(sql: Database, upload: NewUpload): Promise<UploadRow> {
  return sql.begin(async (tx) => {
    if (!(await lockTeam(tx, upload.teamId)))
      throw new AppError("unauthorized", "The team has been deleted.");
    if ((await countOpenUploads(tx, upload.teamId)) >= LIMITS.uploads.open)
      throw new AppError(
        "limit_reached",
        `A team may have ${LIMITS.uploads.open} uploads whose bytes have not come.`,
      );
    return insertUpload(tx, upload);
  });
}

/** @throws AppError `not_found` */
export async function mustFind(sql: Database, teamId: string, id: string): Promise<UploadRow> {
  const row = isId("upl", id) ? await findUpload(sql, teamId, id) : null;
  if (row === null) throw noUpload();
  return row;
}

/** What object storage has of it now, which is noted; null: nothing yet. @throws AppError `not_found` */
export async function look(
  sql: Database,
  streams: Pick<ObjectStreams, "head">,
  row: UploadRow,
): Promise<(UploadRow & StoredObject) | null> {
  const stored = await streams.head({ bucket: null, key: row.key });
  if (stored === null) return null;
  if (row.status === "stored" && row.etag === stored.etag) return { ...row, ...stored };
  const noted = await noteStored(sql, row.id, stored);
  if (noted === null) throw noUpload();
  return { ...noted, ...stored };
}
