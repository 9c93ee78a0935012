import { LIMITS } from "../../config/limits/limits.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/**
 * SQL of uploads. The object of each is at `teams/<team>/uploads/<upload>`, so that it is deleted with its team; a file
 * name is never part of a key. An upload is `open` until its bytes have been seen: with a presigned URL they arrive without
 * our knowledge. A removed upload is hidden at once, and its object is removed soon after. Its row is removed last, when no
 * URL can write the object any more.
 */
export interface UploadRow {
  id: string;
  teamId: string;
  /** False: a test key created it. */
  livemode: boolean;
  filename: string;
  key: string;
  status: "open" | "stored";
  /** Announced size, then the stored one; null: not known yet. */
  bytes: number | null;
  etag: string | null;
  /** Id of an unfinished multipart upload. */
  multipartId: string | null;
  /** Size of its parts, as the client asked for it; null: it did not. */
  partBytes: number | null;
  expiresAt: Date;
  createdAt: Date;
  /** Jobs of it that have not been removed, up to LIMITS.uploads.jobsShown. */
  jobs: number;
}

export interface NewUpload {
  id: string;
  teamId: string;
  livemode: boolean;
  filename: string;
  key: string;
  bytes: number | null;
  partBytes: number | null;
  expiresInMs: number;
}

export function uploadKey(teamId: string, uploadId: string): string {
  return `teams/${teamId}/uploads/${uploadId}`;
}

const columns = (sql: Queryable) => sql`
  id, team_id as "teamId", livemode, filename, object_key as key, status, bytes, etag, multipart_id as "multipartId",
  part_bytes as "partBytes", expires_at as "expiresAt", created_at as "createdAt",
  (select count(*)::int from (
    select from jobs j where j.upload_id = uploads.id and j.removed_at is null limit ${LIMITS.uploads.jobsShown}) j) as jobs`;

const ago = (sql: Queryable, ms: number) => sql`now() - ${ms} * interval '1 millisecond'`;

/** Whether a job still reads it: an active one, or a cancelled one, whose results are still made from it. */
const isRead = (sql: Queryable) => sql`
  exists (select from jobs j where j.upload_id = u.id and j.removed_at is null
          and (j.completed_at is null or j.status = 'cancelled'))`;

/** A team's uploads in one mode. */
export interface UploadTally {
  /** Bytes not received yet. */
  open: number;
  stored: number;
  /** Hidden uploads that have not expired. */
  deleted: number;
  /** Bytes of the open and the stored ones. */
  bytes: number;
}

/**
 * Exact while the caller holds the team's lock, except for bytes that arrived without our knowledge. Live and test uploads
 * are counted apart, so that test keys cannot take the room of live ones.
 * @param unknownBytes size that an open upload of unknown size counts as
 */
export async function tallyUploads(
  tx: Transaction,
  { teamId, livemode }: Pick<NewUpload, "teamId" | "livemode">,
  unknownBytes: number,
): Promise<UploadTally> {
  const [row] = await tx<[UploadTally]>`
    select
      count(*) filter (where is_open)::int as open,
      count(*) filter (where is_stored)::int as stored,
      count(*) filter (where removed_at is not null and expires_at > now())::int as deleted,
      coalesce(sum(coalesce(bytes, ${unknownBytes}::bigint)) filter (where is_open or is_stored), 0)::float8 as bytes
    from (
      select removed_at, expires_at, bytes,
        removed_at is null and status = 'open' and expires_at > now() as is_open,
        removed_at is null and status = 'stored' as is_stored
      from uploads where team_id = ${teamId} and livemode = ${livemode}) u`;
  return row;
}

export async function insertUpload(tx: Transaction, upload: NewUpload): Promise<UploadRow> {
  const [row] = await tx<[UploadRow]>`
    insert into uploads (id, team_id, livemode, filename, object_key, status, bytes, part_bytes, expires_at)
    values (${upload.id}, ${upload.teamId}, ${upload.livemode}, ${upload.filename}, ${upload.key}, 'open', ${upload.bytes},
      ${upload.partBytes}, now() + ${upload.expiresInMs} * interval '1 millisecond')
    returning ${columns(tx)}`;
  return row;
}

export async function findUpload(sql: Queryable, teamId: string, id: string): Promise<UploadRow | null> {
  const [row] = await sql<UploadRow[]>`
    select ${columns(sql)} from uploads where id = ${id} and team_id = ${teamId} and removed_at is null`;
  return row ?? null;
}

/** Newest first. @param page `unusedOnly`: stored ones without a job */
export async function listUploads(
  sql: Queryable,
  teamId: string,
  page: { limit: number; after: string | null; testOnly: boolean; unusedOnly: boolean },
): Promise<UploadRow[]> {
  return sql<UploadRow[]>`
    select ${columns(sql)} from uploads
    where team_id = ${teamId} and removed_at is null and (${page.after}::text is null or id < ${page.after})
      and not (${page.testOnly} and livemode)
      and (not ${page.unusedOnly} or (status = 'stored' and not exists (
        select from jobs j where j.upload_id = uploads.id and j.removed_at is null)))
    order by id desc limit ${page.limit}`;
}

/** Records that it is a multipart upload. False: it was removed meanwhile. */
export async function noteParts(sql: Queryable, id: string, multipartId: string): Promise<boolean> {
  const { count } = await sql`
    update uploads set multipart_id = ${multipartId} where id = ${id} and removed_at is null and status = 'open'`;
  return count > 0;
}

/** Whether an open upload has expired; its row is locked until the transaction ends. null: it is not open (any more). */
export async function lockOpenUpload(tx: Transaction, id: string): Promise<{ isExpired: boolean } | null> {
  const [row] = await tx<{ isExpired: boolean }[]>`
    select expires_at <= now() as "isExpired" from uploads
    where id = ${id} and removed_at is null and status = 'open' for update`;
  return row ?? null;
}

/** Maximum validity of an upload's new URLs. */
export interface UploadExtension {
  expiresAt: Date;
  validMs: number;
}

/**
 * Lets an upload expire `validMs` from now, but not later than `openMs` after its creation, and never earlier than before.
 * @returns null: that is over, to the second
 */
export async function extendUpload(
  tx: Transaction,
  id: string,
  { validMs, openMs }: { validMs: number; openMs: number },
): Promise<UploadExtension | null> {
  const [extension] = await tx<UploadExtension[]>`
    with wanted as (
      select least(now() + ${validMs} * interval '1 millisecond', created_at + ${openMs} * interval '1 millisecond') as until
      from uploads where id = ${id}
    )
    update uploads u set expires_at = greatest(u.expires_at, w.until) from wanted w
    where u.id = ${id} and w.until >= now() + interval '1 second'
    returning w.until as "expiresAt", extract(epoch from w.until - now())::float8 * 1000 as "validMs"`;
  return extension ?? null;
}

/** Records the object as stored. null: it was removed meanwhile. */
export async function noteStored(
  sql: Queryable,
  id: string,
  stored: { bytes: number; etag: string },
): Promise<UploadRow | null> {
  const [row] = await sql<UploadRow[]>`
    update uploads set status = 'stored', bytes = ${stored.bytes}, etag = ${stored.etag}, multipart_id = null
    where id = ${id} and removed_at is null
    returning ${columns(sql)}`;
  return row ?? null;
}

/** Prevents it from being hidden until the transaction ends. False: it is hidden. */
export async function shareLockUpload(tx: Transaction, teamId: string, id: string): Promise<boolean> {
  const rows = await tx`
    select from uploads where id = ${id} and team_id = ${teamId} and removed_at is null for share`;
  return rows.length > 0;
}

/** Hides one on request, unless an unfinished job needs it. */
export async function hideUpload(
  tx: Transaction,
  teamId: string,
  id: string,
): Promise<"hidden" | "in use" | "missing"> {
  const found = await tx`
    select from uploads where id = ${id} and team_id = ${teamId} and removed_at is null for update`;
  if (found.length === 0) return "missing";
  // A statement of its own: it sees the jobs of transactions that locked the row while this one waited for it.
  const { count } = await tx`
    update uploads u set removed_at = now()
    where id = ${id} and not exists (select from jobs j where j.upload_id = u.id and j.completed_at is null)`;
  return count > 0 ? "hidden" : "in use";
}

/** Hides one whose bytes did not arrive. */
export async function giveUpUpload(sql: Queryable, id: string): Promise<void> {
  await sql`update uploads set removed_at = now() where id = ${id} and removed_at is null and status = 'open'`;
}

/** Hides one whose bytes did not arrive, unless it has been extended since it was seen to have expired that long ago. */
export async function giveUpExpired(sql: Queryable, id: string, overMs: number): Promise<void> {
  await sql`
    update uploads set removed_at = now()
    where id = ${id} and removed_at is null and status = 'open' and expires_at < ${ago(sql, overMs)}`;
}

/** Hides one whose bytes must not be kept, even if a job reads them. */
export async function refuseUpload(sql: Queryable, id: string): Promise<void> {
  await sql`update uploads set removed_at = now() where id = ${id} and removed_at is null`;
}

export interface RecentUpload extends UploadRow {
  isHidden: boolean;
}

/** Uploads that can still be written, or could a while ago: hidden ones too, once their objects were removed. By id. */
export async function recentUploads(
  sql: Queryable,
  { after, overMs }: { after: string; overMs: number },
  limit: number,
): Promise<RecentUpload[]> {
  return sql<RecentUpload[]>`
    select ${columns(sql)}, removed_at is not null as "isHidden" from uploads
    where id > ${after} and expires_at > ${ago(sql, overMs)} and (removed_at is null or filename = '')
    order by id limit ${limit}`;
}

/** Open uploads that expired that long ago. Their bytes may have arrived all the same. */
export async function unfinishedUploads(sql: Queryable, overMs: number, limit: number): Promise<UploadRow[]> {
  return sql<UploadRow[]>`
    select ${columns(sql)} from uploads
    where removed_at is null and status = 'open' and expires_at < ${ago(sql, overMs)}
    order by expires_at limit ${limit}`;
}

/** Hides stored uploads of that age that no job still reads. */
export async function hideOldUploads(tx: Transaction, ageMs: number, limit: number): Promise<void> {
  const old = await tx<{ id: string }[]>`
    select id from uploads u
    where removed_at is null and status = 'stored' and created_at < ${ago(tx, ageMs)} and not ${isRead(tx)}
    order by created_at limit ${limit} for update skip locked`;
  if (old.length === 0) return;
  // Checked again, now that no new job can use them.
  await tx`
    update uploads u set removed_at = now()
    where id in (select jsonb_array_elements_text(${tx.json(old.map(({ id }) => id))})) and not ${isRead(tx)}`;
}

export interface RemovedUpload {
  id: string;
  teamId: string;
  key: string;
  /** No URL can write its object any more: once the object is deleted, the row may go. */
  isLast: boolean;
}

/**
 * Hidden uploads whose objects must be removed. First `restMs` after they were hidden, when readers and writers have
 * noticed it. Again `overMs` after they expired, when no URL is valid and no request runs any more.
 */
export async function removableUploads(
  sql: Queryable,
  { restMs, overMs }: { restMs: number; overMs: number },
  limit: number,
): Promise<RemovedUpload[]> {
  return sql<RemovedUpload[]>`
    select id, team_id as "teamId", object_key as key, expires_at < ${ago(sql, overMs)} as "isLast" from uploads
    where removed_at < ${ago(sql, restMs)} and (filename <> '' or expires_at < ${ago(sql, overMs)})
    order by removed_at limit ${limit}`;
}

/** Clears the data about the file, after its object was removed for the first time. */
export async function blankUpload(sql: Queryable, id: string): Promise<void> {
  await sql`update uploads set filename = '', bytes = null, etag = null, multipart_id = null where id = ${id}`;
}

export async function deleteUpload(sql: Queryable, id: string): Promise<void> {
  await sql`delete from uploads where id = ${id}`;
}
