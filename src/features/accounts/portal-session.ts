import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Transaction } from "../../stores/postgres/postgres.ts";
import { insertSession } from "../identity/account-sql.ts";
import type { Actor, MemberRole } from "../identity/actor.ts";
import { hashSecret, newSecret } from "../identity/api-key.ts";
import { shareLockCredential } from "../identity/credentials.ts";
import type { UserRow, UserTeamRow } from "../identity/users.ts";
import { deleteSurplusSessions } from "./session-sql.ts";

export interface PortalUser {
  id: string;
  email: string;
}

/** A team in a member's list of teams. */
export interface PortalTeam {
  id: string;
  name: string;
  tier: Tier;
  /** The user's role in this team. */
  role: MemberRole;
}

/** The answer to a sign-in. The token is stored only as a hash. */
export interface SignedIn {
  user: PortalUser;
  team: PortalTeam;
  session: { token: string; expires_at: string };
}

/**
 * Opens a session of a user in a team, whose locks the caller holds; the oldest sessions beyond
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

/** The session's user. @throws AppError `session_required` for a key: personal matters need a session */
export function requireSession(actor: Actor): { userId: string; sessionId: string } {
  if (actor.isSession && actor.userId !== null) return { userId: actor.userId, sessionId: actor.keyId };
  throw new AppError(
    "session_required",
    "This request concerns your account: use a portal session, not a key.",
  );
}

/**
 * Prevents the calling session from being ended before the transaction: what authentication cached may be a second old, and
 * the result of the transaction lasts. The caller holds the user's lock. @throws AppError `unauthorized` when it has ended
 */
export async function shareLockSession(tx: Transaction, actor: Actor): Promise<void> {
  const { userId, sessionId } = requireSession(actor);
  const { teamId } = actor;
  if (!(await shareLockCredential(tx, { id: sessionId, isSession: true, teamId, userId })))
    throw new AppError("unauthorized", "The session has ended.");
}

/** The same answer whatever was wrong: it must not reveal accounts. */
export const invalidCredentials = () =>
  new AppError("invalid_credentials", "Wrong address or password, or the account has no team.");
