import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** Password reset links, and reset requests that the relay has not processed yet. */

export interface ResetRequest {
  id: string;
  sealedEmail: Buffer;
}

/** Stores a request; false when LIMITS.portal.resetRequests wait already. */
export async function insertResetRequest(sql: Queryable, request: ResetRequest): Promise<boolean> {
  const rows = await sql`
    insert into password_reset_requests (id, sealed_email)
    select ${request.id}::text, ${request.sealedEmail}::bytea
    where (select count(*) from password_reset_requests) < ${LIMITS.portal.resetRequests}
    returning id`;
  return rows.length > 0;
}

/** Takes the oldest request after the id `after`, if any: it waits again if the transaction fails. */
export async function takeResetRequest(tx: Transaction, after: string): Promise<ResetRequest[]> {
  return tx<ResetRequest[]>`
    with taken as materialized (
      select ctid from password_reset_requests where id > ${after} order by id limit 1 for update skip locked
    )
    delete from password_reset_requests where ctid = any (array(select ctid from taken))
    returning id, sealed_email as "sealedEmail"`;
}

/** False when the user has LIMITS.portal.resetsPerUser valid links. */
export async function insertReset(tx: Transaction, userId: string, hash: Buffer): Promise<boolean> {
  await tx`select from users where id = ${userId} for no key update`;
  const rows = await tx`
    insert into password_resets (hash, user_id, expires_at)
    select ${hash}::bytea, ${userId}::text, now() + ${intervalOf(LIMITS.portal.resetTtlMs)}::interval
    where (
      select count(*) from password_resets where user_id = ${userId} and expires_at > now()
    ) < ${LIMITS.portal.resetsPerUser}
    returning user_id`;
  return rows.length > 0;
}

/** The user whose password a token resets; null when it is invalid, used or expired. */
export async function findReset(sql: Queryable, hash: Buffer): Promise<{ id: string; email: string } | null> {
  const [row] = await sql<{ id: string; email: string }[]>`
    select u.id, u.email from password_resets r join users u on u.id = r.user_id
    where r.hash = ${hash} and r.expires_at > now()`;
  return row ?? null;
}

/** Uses up a token, and all others of its user. True for one caller only. */
export async function takeReset(tx: Transaction, userId: string, hash: Buffer): Promise<boolean> {
  const rows = await tx`
    delete from password_resets
    where hash = ${hash} and user_id = ${userId} and expires_at > now() returning user_id`;
  if (rows.length > 0) await deleteResetsOfUser(tx, userId);
  return rows.length > 0;
}

export async function deleteResetsOfUser(tx: Transaction, userId: string): Promise<void> {
  await tx`delete from password_resets where user_id = ${userId}`;
}

/**
 * Deletes expired links, and as many requests that were not processed for as long, at most LIMITS.portal.prunedPerRound
 * each.
 */
export async function pruneResets(sql: Database): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from password_resets where expires_at < now()
      order by expires_at limit ${LIMITS.portal.prunedPerRound} for update skip locked
    )
    delete from password_resets where ctid = any (array(select ctid from taken))`;
  await sql`
    with taken as materialized (
      select ctid from password_reset_requests
      where created_at < now() - ${intervalOf(LIMITS.portal.resetTtlMs)}::interval
      order by id limit ${LIMITS.portal.prunedPerRound} for update skip locked
    )
    delete from password_reset_requests where ctid = any (array(select ctid from taken))`;
}
