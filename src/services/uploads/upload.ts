import { DAY_MS } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { isId } from "../../core/ids.ts";
import { LIMITS } from "../../core/limits.ts";
import type { TierLimits } from "../../core/tiers.ts";
import type { ObjectStreams, StoredObject } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import { lockTeam } from "../../store/teams.ts";
import {
  findUpload,
  insertUpload,
  type NewUpload,
  noteStored,
  refuseUpload,
  tallyUploads,
  type UploadRow,
  type UploadTally,
} from "../../store/uploads.ts";
import { type Actor, mayReach } from "../actor.ts";

/** A file of a team, as it sees it. */
export interface Upload {
  id: string;
  livemode: boolean;
  filename: string;
  /** `open`: its bytes are awaited. */
  status: "open" | "stored";
  /** As announced, then as stored; null: not known yet. */
  bytes: number | null;
  created_at: string;
  /** Until then the bytes of an open one are taken; null: they have come. */
  expires_at: string | null;
  /** It is removed then, unless a job has yet to read it. */
  kept_until: string;
}

/** @param retentionDays as long as results are kept */
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
  };
}

export function noUpload(): AppError {
  return new AppError("not_found", "There is no such upload.");
}

/** Whose bulk bytes bound an upload. */
export type Holder = Pick<Actor, "limits">;

export function tooLarge({ limits }: Holder): AppError {
  return new AppError("bulk_too_large", `A list of the team may have ${limits.bulkBytes} bytes.`);
}

/** What the team has one too many of with this one; null: nothing. */
function excess(tally: UploadTally, { bytes }: NewUpload, { bulkBytes }: TierLimits): string | null {
  const { open, stored, deleted, lists } = LIMITS.uploads;
  if (tally.open >= open) return `A team may have ${open} uploads whose bytes have not come.`;
  if (tally.stored >= stored) return `A team may have ${stored} uploads: delete some.`;
  if (tally.deleted >= deleted)
    return `Of ${deleted} uploads that were deleted the time is not over: wait until that of some is.`;
  const most = lists * bulkBytes;
  if (tally.bytes + (bytes ?? bulkBytes) > most)
    return `All uploads of the team may have ${most} bytes, one of unknown size counts as ${bulkBytes}: delete some.`;
  return null;
}

/** @throws AppError `unauthorized` when the team is gone; `limit_reached` */
export function insertWithinLimit(sql: Database, { limits }: Holder, upload: NewUpload): Promise<UploadRow> {
  return sql.begin(async (tx) => {
    if (!(await lockTeam(tx, upload.teamId)))
      throw new AppError("unauthorized", "The team has been deleted.");
    const detail = excess(await tallyUploads(tx, upload, limits.bulkBytes), upload, limits);
    if (detail !== null) throw new AppError("limit_reached", detail);
    return insertUpload(tx, upload);
  });
}

/** Another team's is not found, nor a live one by a test key. @throws AppError `not_found` */
export async function mustFind(
  sql: Database,
  actor: Pick<Actor, "teamId" | "livemode">,
  id: string,
): Promise<UploadRow> {
  const row = isId("upl", id) ? await findUpload(sql, actor.teamId, id) : null;
  if (row === null || !mayReach(actor, row)) throw noUpload();
  return row;
}

/**
 * What object storage has of it now, which is noted; null: nothing yet. What is larger than the team may have, and than was
 * announced or seen when it could have more, is given up: it came by a URL that could not say how large it may get.
 * @throws AppError `not_found`, `bulk_too_large`
 */
export async function look(
  sql: Database,
  streams: Pick<ObjectStreams, "head">,
  row: UploadRow,
  holder: Holder,
): Promise<(UploadRow & StoredObject) | null> {
  const stored = await streams.head({ bucket: null, key: row.key });
  if (stored === null) return null;
  if (row.status === "stored" && row.etag === stored.etag) return { ...row, ...stored };
  if (stored.bytes > Math.max(holder.limits.bulkBytes, row.bytes ?? 0)) {
    await refuseUpload(sql, row.id);
    throw tooLarge(holder);
  }
  const noted = await noteStored(sql, row.id, stored);
  if (noted === null) throw noUpload();
  return { ...noted, ...stored };
}
