import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import { foldAddress } from "../../verification/address/address-case.ts";

/**
 * A pending invitation. It is deleted when it is accepted or revoked, and by the database when its inviter leaves the team
 * or loses the right to invite.
 */
export interface InviteRow {
  id: string;
  teamId: string;
  email: string;
  role: "member" | "admin" | "owner";
  createdAt: Date;
  expiresAt: Date;
}

export interface NewInvite {
  id: string;
  teamId: string;
  email: string;
  role: InviteRow["role"];
  /** The inviter, a member of the team. */
  invitedBy: string;
  /** SHA-256 of the token, 32 bytes: of the mailed one, where mail is sent. */
  hash: Buffer;
  /** SHA-256 of the other token, which the inviter is shown; null: no mail is sent, there is one token. */
  shownHash: Buffer | null;
}

/** An invitation as found by a token. */
export interface TokenInvite extends InviteRow {
  /** False: the inviter was shown this token, and another one is mailed. */
  makesAccount: boolean;
}

const columns = (sql: Queryable) =>
  sql`id, team_id as "teamId", email, role, created_at as "createdAt", expires_at as "expiresAt"`;

/** Pending invitations of a team, newest first, those before `after`. */
export async function listInvites(
  sql: Queryable,
  teamId: string,
  page: { after: string | null; limit: number },
): Promise<InviteRow[]> {
  return sql<InviteRow[]>`
    select ${columns(sql)} from invites
    where team_id = ${teamId} and expires_at > now()
      and (${page.after}::text is null or id < ${page.after})
    order by id desc limit ${page.limit}`;
}

/** The pending invitation of a token, of any team. */
export async function findInvite(sql: Queryable, hash: Buffer): Promise<TokenInvite | null> {
  const [row] = await sql<TokenInvite[]>`
    select ${columns(sql)}, hash = ${hash} as "makesAccount" from invites
    where (hash = ${hash} or id = (select invite_id from shown_invites s where s.hash = ${hash}))
      and expires_at > now()`;
  return row ?? null;
}

/**
 * Replaces an earlier invitation of the same address. null when the team, which the caller has locked, has
 * LIMITS.portal.invitesPerTeam pending ones.
 */
export async function insertInvite(tx: Transaction, invite: NewInvite): Promise<InviteRow | null> {
  await tx`
    delete from invites
    where team_id = ${invite.teamId} and (lower(email collate "C") = ${foldAddress(invite.email)} or expires_at <= now())`;
  const [row] = await tx<InviteRow[]>`
    insert into invites (id, team_id, email, role, invited_by, hash, expires_at)
    select ${invite.id}::text, ${invite.teamId}::text, ${invite.email}::text, ${invite.role}::text,
      ${invite.invitedBy}::text, ${invite.hash}::bytea, now() + ${intervalOf(LIMITS.portal.inviteTtlMs)}::interval
    where (select count(*) from invites where team_id = ${invite.teamId}) < ${LIMITS.portal.invitesPerTeam}
    returning ${columns(tx)}`;
  if (row !== undefined && invite.shownHash !== null)
    await tx`insert into shown_invites (hash, invite_id) values (${invite.shownHash}, ${row.id})`;
  return row ?? null;
}

/** A pending invitation of the team. */
export async function findTeamInvite(
  tx: Transaction,
  teamId: string,
  which: { id: string } | { email: string },
): Promise<InviteRow | null> {
  const isIt =
    "id" in which ? tx`id = ${which.id}` : tx`lower(email collate "C") = ${foldAddress(which.email)}`;
  const [row] = await tx<InviteRow[]>`
    select ${columns(tx)} from invites where team_id = ${teamId} and ${isIt} and expires_at > now()`;
  return row ?? null;
}

/** Deletes a pending invitation that is accepted or revoked: true for one caller only. */
export async function takeInvite(tx: Transaction, invite: InviteRow): Promise<boolean> {
  const rows = await tx`
    delete from invites where id = ${invite.id} and team_id = ${invite.teamId} and expires_at > now() returning id`;
  return rows.length > 0;
}

/** Deletes expired invitations, at most LIMITS.portal.prunedPerRound. */
export async function pruneInvites(sql: Database): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from invites where expires_at < now()
      order by expires_at limit ${LIMITS.portal.prunedPerRound} for update skip locked
    )
    delete from invites where ctid = any (array(select ctid from taken))`;
}
