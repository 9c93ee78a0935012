import { AppError } from "../../platform/errors.ts";
import type { TeamTransaction } from "../../stores/postgres/postgres.ts";
import { type Actor, hasAtLeastRole, lowerRole, type MemberRole } from "../identity/actor.ts";
import { shareLockCredential } from "../identity/credentials.ts";
import { findMember } from "../identity/member-sql.ts";
import { lockTeam } from "../identity/team-sql.ts";

/** A caller whose membership the database has just confirmed. */
export interface ActingMember {
  userId: string;
  /** The member's role in the team, or the key's where that is lower. */
  role: MemberRole;
}

/**
 * The caller's current role, with the team locked and the credential held until the transaction ends. Authentication may be
 * a second old: enough for two owners to demote each other, or for a key that was just revoked to create a successor. Every
 * object that outlasts the request (a key, an entry, a webhook) is created after this check.
 * @throws AppError `unauthorized` when the team or the credential is gone, or the caller has left; `insufficient_role`
 *   below `least`
 */
export async function lockActingMember(
  tx: TeamTransaction,
  actor: Actor,
  least: MemberRole,
): Promise<ActingMember> {
  const isThere = await lockTeam(tx, actor.teamId);
  if (!isThere) throw new AppError("unauthorized", "The team has been deleted.");
  const { keyId: id, isSession, teamId, userId } = actor;
  const member = userId === null ? null : await findMember(tx, teamId, userId);
  if (member === null) throw new AppError("unauthorized", "The user has left the team.");
  if (!(await shareLockCredential(tx, { id, isSession, teamId, userId: member.userId })))
    throw new AppError("unauthorized", "The credential was revoked or has expired.");
  const role = lowerRole(actor.role, member.role);
  if (!hasAtLeastRole(role, least)) throw insufficientRole(least, role);
  return { userId: member.userId, role };
}

export function insufficientRole(least: MemberRole, role: MemberRole): AppError {
  return new AppError("insufficient_role", `This requires the role ${least}; you are ${role}.`);
}

export function liveCredentialNeeded(): AppError {
  return new AppError(
    "live_credential_needed",
    "This requires a live key or a portal session, not a test key.",
  );
}
