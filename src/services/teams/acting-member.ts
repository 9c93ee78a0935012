import { AppError } from "../../core/errors.ts";
import { holdCredential } from "../../store/credentials.ts";
import { findMember } from "../../store/members.ts";
import type { Transaction } from "../../store/postgres.ts";
import { lockTeam } from "../../store/teams.ts";
import { type Actor, lowerRole, type Role, reaches } from "../actor.ts";

/** A caller of whom the database has just said that he is a member. */
export interface ActingMember {
  userId: string;
  /** His role in the team, or his key's where that is lower. */
  role: Role;
}

/**
 * The role its caller has at this very moment, with the team locked and the credential held until the transaction ends.
 * What authentication answered may be a second old: enough for two owners to demote one another, or for a key that was
 * just revoked to make itself an heir. Whatever outlasts the request (a key, an entry, a webhook) is given after this.
 * @throws AppError `unauthorized` when the team or the credential is gone, or the caller has left; `insufficient_role`
 *   below `least`
 */
export async function lockActingMember(tx: Transaction, actor: Actor, least: Role): Promise<ActingMember> {
  const isThere = await lockTeam(tx, actor.teamId);
  if (!isThere) throw new AppError("unauthorized", "The team has been deleted.");
  const { keyId: id, isSession, teamId, userId } = actor;
  const member = userId === null ? null : await findMember(tx, teamId, userId);
  if (member === null) throw new AppError("unauthorized", "The user has left the team.");
  if (!(await holdCredential(tx, { id, isSession, teamId, userId: member.userId })))
    throw new AppError("unauthorized", "The credential was revoked or has expired.");
  const role = lowerRole(actor.role, member.role);
  if (!reaches(role, least)) throw insufficientRole(least, role);
  return { userId: member.userId, role };
}

export function insufficientRole(least: Role, role: Role): AppError {
  return new AppError("insufficient_role", `This needs the role ${least}; you are ${role}.`);
}

export function liveCredentialNeeded(): AppError {
  return new AppError(
    "live_credential_needed",
    "This needs a live key or a portal session; a test key does not do.",
  );
}
