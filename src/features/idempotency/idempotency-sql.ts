import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";

/** SQL of requests with an `Idempotency-Key`; migration 11 lists their states. Times are Postgres's own. */

export interface IdempotencyClaim {
  teamId: string;
  livemode: boolean;
  /** SHA-256, 32 bytes. */
  keyHash: Buffer;
  /** SHA-256 of the request, 32 bytes. */
  fingerprint: Buffer;
  /** A new UUID: only its holder may settle or release the claim. */
  claim: string;
}

/** A stored response. */
export interface StoredResponse {
  status: number;
  contentType: string;
  headers: Record<string, string>;
  /** null: no body. */
  body: string | null;
  /** The response is valid, and kept, until then. Absent: without end. Not read back. */
  holdsUntil?: Date;
}

/**
 * `other`: the key was used for another request; `full`: no room before `evictIdempotencyKeys`; `free`: the key is free
 * again.
 */
export type IdempotencyKeyState =
  | { state: "running" | "other" | "full" | "free" }
  | { state: "kept"; answer: StoredResponse };

const HELD = LIMITS.idempotency.perTeam + LIMITS.idempotency.spare;

/** The team's unexpired keys, at most HELD. Compared with the statement's start, which an index can serve. */
const heldKeys = (sql: Queryable, { teamId, livemode }: IdempotencyClaim) => sql`
  (select count(*) from (
    select from idempotency_keys
    where team_id = ${teamId} and livemode = ${livemode} and expires_at > now() limit ${HELD}) held)`;

/**
 * Takes the key: true for exactly one of any number of concurrent callers. A key that has expired, or whose claim for the
 * same request was abandoned, is free again. False also when there is no room.
 * @param isCounted false: whether there is room is not looked at
 */
export async function claimIdempotencyKey(
  sql: Queryable,
  key: IdempotencyClaim,
  isCounted: boolean,
): Promise<boolean> {
  const { leaseMs, keptMs } = LIMITS.idempotency;
  const hasRoom = sql`where ${heldKeys(sql, key)} < ${HELD}
      or exists (select from idempotency_keys where team_id = ${key.teamId} and key_hash = ${key.keyHash})`;
  const rows = await sql`
    insert into idempotency_keys as k (team_id, livemode, key_hash, fingerprint, claim, locked_until, expires_at)
    select ${key.teamId}, ${key.livemode}::boolean, ${key.keyHash}, ${key.fingerprint}, ${key.claim}::uuid,
      clock_timestamp() + ${intervalOf(leaseMs)}::interval, clock_timestamp() + ${intervalOf(keptMs)}::interval
    ${isCounted ? hasRoom : sql``}
    on conflict (team_id, key_hash) do update
    set fingerprint = excluded.fingerprint, claim = excluded.claim, locked_until = excluded.locked_until,
      expires_at = excluded.expires_at, status = null, content_type = null, headers = null, body = null
    where k.expires_at <= clock_timestamp()
      or (k.status is null and k.locked_until <= clock_timestamp() and k.fingerprint = excluded.fingerprint)
    returning true`;
  return rows.length === 1;
}

interface KeyRow {
  fingerprint: Buffer | null;
  status: number | null;
  content_type: string | null;
  headers: Record<string, string> | null;
  body: string | null;
  held: number;
}

/** The stored state that prevents a claim. */
export async function readIdempotencyKey(
  sql: Queryable,
  key: IdempotencyClaim,
): Promise<IdempotencyKeyState> {
  const [row] = await sql<[KeyRow]>`
    select k.fingerprint, k.status::int as status, k.content_type, k.headers, k.body,
      ${heldKeys(sql, key)}::int as held
    from (select) one
    left join idempotency_keys k on k.team_id = ${key.teamId} and k.key_hash = ${key.keyHash}`;
  if (row.fingerprint === null) return { state: row.held >= HELD ? "full" : "free" };
  if (!key.fingerprint.equals(row.fingerprint)) return { state: "other" };
  if (row.status === null || row.content_type === null) return { state: "running" };
  const { status, content_type: contentType, headers, body } = row;
  return { state: "kept", answer: { status, contentType, headers: headers ?? {}, body } };
}

/**
 * Makes room: deletes finished keys older than the team's latest LIMITS.idempotency.perTeam, at most `spare`. Concurrent
 * callers together delete no more than one would, and each returns when there is room: it waits for the others' deletions.
 */
export async function evictIdempotencyKeys(
  sql: Queryable,
  { teamId, livemode }: IdempotencyClaim,
): Promise<void> {
  const { perTeam, spare } = LIMITS.idempotency;
  await sql`
    with taken as materialized (
      select ctid from idempotency_keys
      where team_id = ${teamId} and livemode = ${livemode}
        and (status is not null or locked_until <= clock_timestamp())
        and expires_at < (
          select expires_at from idempotency_keys where team_id = ${teamId} and livemode = ${livemode}
          order by expires_at desc offset ${perTeam - 1} limit 1)
      order by expires_at limit ${spare} for update
    )
    delete from idempotency_keys where ctid = any (array(select ctid from taken))`;
}

/** Stores the response, if the claim is still held. */
export async function completeIdempotencyKey(
  sql: Queryable,
  key: IdempotencyClaim,
  answer: StoredResponse,
): Promise<void> {
  await sql`
    update idempotency_keys
    set status = ${answer.status}, content_type = ${answer.contentType}, headers = ${sql.json(answer.headers)},
      body = ${answer.body}, expires_at = least(expires_at, ${answer.holdsUntil ?? null}::timestamptz)
    where team_id = ${key.teamId} and key_hash = ${key.keyHash} and claim = ${key.claim}::uuid and status is null`;
}

/** Frees the key for another attempt, if the claim is still held. */
export async function releaseIdempotencyKey(sql: Queryable, key: IdempotencyClaim): Promise<void> {
  await sql`
    delete from idempotency_keys
    where team_id = ${key.teamId} and key_hash = ${key.keyHash} and claim = ${key.claim}::uuid and status is null`;
}

/** Deletes expired keys, at most LIMITS.idempotency.prunedPerRound. Returns their number. */
export async function pruneIdempotencyKeys(sql: Queryable): Promise<number> {
  const gone = await sql`
    with taken as materialized (
      select ctid from idempotency_keys where expires_at <= clock_timestamp()
      limit ${LIMITS.idempotency.prunedPerRound} for update skip locked
    )
    delete from idempotency_keys where ctid = any (array(select ctid from taken))`;
  return gone.count;
}
