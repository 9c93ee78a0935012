import { LIMITS } from "../../config/limits/limits.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** Statements that end portal sessions. The database records each end in the change feed. */

export async function deleteSession(tx: Transaction, session: { id: string; userId: string }): Promise<void> {
  await tx`delete from sessions where id = ${session.id} and user_id = ${session.userId}`;
}

/** Ends all sessions of a user, in every team, except one; null: all. */
export async function deleteSessionsOfUser(
  tx: Transaction,
  userId: string,
  exceptId: string | null,
): Promise<void> {
  await tx`delete from sessions where user_id = ${userId} and id is distinct from ${exceptId}`;
}

/** Ends the oldest sessions of a user beyond LIMITS.portal.sessionsPerUser. */
export async function deleteSurplusSessions(tx: Transaction, userId: string): Promise<void> {
  await tx`
    with surplus as materialized (
      select ctid from sessions where user_id = ${userId}
      order by created_at desc, id desc offset ${LIMITS.portal.sessionsPerUser}
    )
    delete from sessions where ctid = any (array(select ctid from surplus))`;
}

/** Deletes expired sessions, at most LIMITS.portal.prunedPerRound. */
export async function pruneSessions(sql: Database): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from sessions where expires_at < now()
      order by expires_at limit ${LIMITS.portal.prunedPerRound} for update skip locked
    )
    delete from sessions where ctid = any (array(select ctid from taken))`;
}
