import { AppError } from "../../core/errors.ts";
import { newId } from "../../core/ids.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Tier } from "../../core/tiers.ts";
import { insertSession } from "../../store/accounts.ts";
import { holdCredential } from "../../store/credentials.ts";
import type { Transaction } from "../../store/postgres.ts";
import { deleteSurplusSessions } from "../../store/sessions.ts";
import type { UserRow, UserTeamRow } from "../../store/users.ts";
import type { Actor, Role } from "../actor.ts";
import { hashSecret, newSecret } from "../api-key.ts";

export interface PortalUser {
  id: string;
  email: string;
}

/** A team as one of its members sees it in a list of theirs. */
export interface PortalTeam {
  id: string;
  name: string;
  tier: Tier;
  /** The user's in this team. */
  role: Role;
}

/** What whoever signs in is answered. The token is nowhere else: it is stored as a hash. */
export interface SignedIn {
  user: PortalUser;
  team: PortalTeam;
  session: { token: string; expires_at: string };
}

/**
 * Begins a session of a user in a team, whose locks the caller holds; the oldest ones beyond
 * LIMITS.portal.sessionsPerUser end.
 */
export async function openSession(tx: Transaction, user: UserRow, team: UserTeamRow): Promise<SignedIn> {
  const token = newSecret("sess");
  const expiresAt = await insertSession(tx, {
    id: newId("sess"),
    userId: user.id,
    teamId: team.id,
    hash: Buffer.from(hashSecret(token), "hex"),
    ttlMs: LIMITS.keys.sessionTtlMs,
  });
  await deleteSurplusSessions(tx, user.id);
  return {
    user: { id: user.id, email: user.email },
    team: { id: team.id, name: team.name, tier: team.tier, role: team.role },
    session: { token, expires_at: expiresAt.toISOString() },
  };
}

/** Whose session it is. @throws AppError `session_required` for a key: what concerns the person is not for keys */
export function requireSession(actor: Actor): { userId: string; sessionId: string } {
  if (actor.isSession && actor.userId !== null) return { userId: actor.userId, sessionId: actor.keyId };
  throw new AppError("session_required", "This concerns your account: it needs a portal session, not a key.");
}

/**
 * Keeps the session that asks from being ended before the transaction does: what authentication cached may be a second
 * old, and what is done with it lasts. The caller holds the user's lock. @throws AppError `unauthorized` when it has ended
 */
export async function holdSession(tx: Transaction, actor: Actor): Promise<void> {
  const { userId, sessionId } = requireSession(actor);
  const { teamId } = actor;
  if (!(await holdCredential(tx, { id: sessionId, isSession: true, teamId, userId })))
    throw new AppError("unauthorized", "The session has ended.");
}

/** The same answer whatever was wrong: it tells nobody who has an account. */
export const invalidCredentials = () =>
  new AppError("invalid_credentials", "There is no such account with this password, or it has no team.");
