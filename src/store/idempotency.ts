import { LIMITS } from "../core/limits.ts";
import type { Queryable } from "./postgres.ts";

/** SQL of the requests that came with an `Idempotency-Key`; migration 11 tells their states. Times are Postgres' own. */

export interface KeyClaim {
  teamId: string;
  livemode: boolean;
  /** SHA-256, 32 bytes. */
  keyHash: Buffer;
  /** SHA-256 of the request, 32 bytes. */
  fingerprint: Buffer;
  /** A new UUID: who settles or releases must hold it. */
  claim: string;
}

/** An answer as it is kept. */
export interface KeptAnswer {
  status: number;
  contentType: string;
  headers: Record<string, string>;
  /** null: there was none. */
  body: string | null;
  /** What it says holds no longer: it is not kept beyond that. Absent: for ever. Not read again. */
  holdsUntil?: Date;
}

/** `other`: the key was used for another request; `full`: there is no room before `evictKeys`; `free`: not any more. */
export type KeyState =
  | { state: "running" | "other" | "full" | "free" }
  | { state: "kept"; answer: KeptAnswer };

const HELD = LIMITS.idempotency.perTeam + LIMITS.idempotency.spare;

/** The team's keys that have not expired, HELD at most. By the statement's start, which an index can be searched for. */
const heldKeys = (sql: Queryable, { teamId, livemode }: KeyClaim) => sql`
  (select count(*) from (
    select from idempotency_keys
    where team_id = ${teamId} and livemode = ${livemode} and expires_at > now() limit ${HELD}) held)`;

const milliseconds = (ms: number) => `${ms} milliseconds`;

/**
 * Takes the key: true for exactly one of any number that ask at once. One that has expired, or whose claim for the same
 * request was left, is free again. False also when there is no room.
 */
export async function claimKey(sql: Queryable, key: KeyClaim): Promise<boolean> {
  const { leaseMs, keptMs } = LIMITS.idempotency;
  const rows = await sql`
    insert into idempotency_keys as k (team_id, livemode, key_hash, fingerprint, claim, locked_until, expires_at)
    select ${key.teamId}, ${key.livemode}::boolean, ${key.keyHash}, ${key.fingerprint}, ${key.claim}::uuid,
      clock_timestamp() + ${milliseconds(leaseMs)}::interval, clock_timestamp() + ${milliseconds(keptMs)}::interval
    where ${heldKeys(sql, key)} < ${HELD}
      or exists (select from idempotency_keys where team_id = ${key.teamId} and key_hash = ${key.keyHash})
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

/** What stands in the way of a claim. */
export async function readKey(sql: Queryable, key: KeyClaim): Promise<KeyState> {
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
 * Makes room: deletes those before the team's latest LIMITS.idempotency.perTeam on which nobody works, `spare` at most.
 * Any number at once do no more than one, and each returns when there is room: it waits for the others' deletions.
 */
export async function evictKeys(sql: Queryable, { teamId, livemode }: KeyClaim): Promise<void> {
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

/** Keeps the answer, if the claim is still held. */
export async function settleKey(sql: Queryable, key: KeyClaim, answer: KeptAnswer): Promise<void> {
  await sql`
    update idempotency_keys
    set status = ${answer.status}, content_type = ${answer.contentType}, headers = ${sql.json(answer.headers)},
      body = ${answer.body}, expires_at = least(expires_at, ${answer.holdsUntil ?? null}::timestamptz)
    where team_id = ${key.teamId} and key_hash = ${key.keyHash} and claim = ${key.claim}::uuid and status is null`;
}

/** Frees the key for another try, if the claim is still held. */
export async function releaseKey(sql: Queryable, key: KeyClaim): Promise<void> {
  await sql`
    delete from idempotency_keys
    where team_id = ${key.teamId} and key_hash = ${key.keyHash} and claim = ${key.claim}::uuid and status is null`;
}

/** Deletes expired keys, LIMITS.idempotency.prunedPerRound at most. How many it were. */
export async function pruneKeys(sql: Queryable): Promise<number> {
  const gone = await sql`
    with taken as materialized (
      select ctid from idempotency_keys where expires_at <= clock_timestamp()
      limit ${LIMITS.idempotency.prunedPerRound} for update skip locked
    )
    delete from idempotency_keys where ctid = any (array(select ctid from taken))`;
  return gone.count;
}
