import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { retryDeadlocks } from "../../stores/postgres/deadlock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import type { Actor, MemberRole } from "../identity/actor.ts";
import { type TeamLimits, teamLimits } from "../identity/team-limits.ts";
import { findTeam } from "../identity/team-sql.ts";
import {
  findUser,
  listTeamsOfUser,
  lockUser,
  setPassword,
  teamNames,
  type UserRow,
} from "../identity/users.ts";
import { refuseGuessable } from "./guessable-password.ts";
import type { Passwords } from "./password.ts";
import { deleteResetsOfUser } from "./password-reset-sql.ts";
import type { PortalLimits } from "./portal-limits.ts";
import {
  invalidCredentials,
  type PortalTeam,
  type PortalUser,
  requireSession,
  shareLockSession,
} from "./portal-session.ts";
import { deleteSession, deleteSessionsOfUser } from "./session-sql.ts";

/** The caller's identity, with its credential. */
export interface Identity {
  /** null: a key whose user has left the team. */
  user: PortalUser | null;
  team: PortalTeam;
  /** The credential's role in the team: the user's, or a key's lower one. */
  role: MemberRole;
  credential: { type: "session" | "api_key"; id: string };
  /** In force for the team: its tier's, with what the operator has changed. */
  limits: TeamLimits;
  /** The team runs the deployment and may read its state. */
  operator: boolean;
  /** For a session all the user's teams, at most LIMITS.portal.teamsListed. A key shows its own team only. */
  teams: PortalTeam[];
}

export interface OwnAccount {
  me(actor: Actor): Promise<Identity>;
  /** Ends the session, here at once, in every other process within a second. @throws AppError `session_required` */
  logout(actor: Actor): Promise<void>;
  /**
   * Sets the user's password. Ends all their other sessions, in every team, and all password reset links.
   * @param current null when the account has no password yet
   * @throws AppError `session_required`; `validation_failed` when `current` is missing or the new one is easily guessed;
   *   `invalid_credentials`; `rate_limited`, by the counters of signing in; `overloaded`
   */
  changePassword(
    actor: Actor,
    change: { current: string | null; next: string },
    clientAddress: string,
  ): Promise<void>;
}

export interface OwnAccountDeps {
  sql: Database;
  publisher: ChangePublisher;
  passwords: Passwords;
  limits: PortalLimits;
}

const accountDeleted = () => new AppError("unauthorized", "The account or the team has been deleted.");

function currentIsRequired(): AppError {
  const message = "is required: the account has a password";
  return new AppError("validation_failed", `current_password (body) ${message}.`, {
    errors: [{ path: "current_password", message }],
  });
}

export function createOwnAccount(deps: OwnAccountDeps): OwnAccount {
  const { sql, publisher, passwords, limits } = deps;

  async function prove(user: UserRow, current: string | null, clientAddress: string): Promise<void> {
    if (user.passwordHash === null) return;
    if (current === null) throw currentIsRequired();
    const attempt = await limits.signIn(user.email, clientAddress);
    if (!(await passwords.verify(user.passwordHash, current, { standing: "known", share: user.id })))
      throw invalidCredentials();
    await attempt.succeeded();
  }

  return {
    async me(actor) {
      const { userId } = actor;
      const [user, team] = await Promise.all([
        userId === null ? null : findUser(sql, userId),
        findTeam(sql, actor.teamId),
      ]);
      if (team === null) throw accountDeleted();
      const own = { id: team.id, name: team.name, tier: team.tier, role: actor.role };
      const isPerson = actor.isSession && userId !== null;
      return {
        user: user === null ? null : { id: user.id, email: user.email },
        team: own,
        role: actor.role,
        credential: { type: actor.isSession ? "session" : "api_key", id: actor.keyId },
        limits: teamLimits(actor.limits),
        operator: team.operator,
        teams: isPerson ? await listTeamsOfUser(sql, userId, LIMITS.portal.teamsListed) : [own],
      };
    },

    async logout(actor) {
      const { userId, sessionId } = requireSession(actor);
      await publisher.transact((tx) => deleteSession(tx, { id: sessionId, userId }));
    },

    async changePassword(actor, { current, next }, clientAddress) {
      const { userId, sessionId } = requireSession(actor);
      const user = await findUser(sql, userId);
      if (user === null) throw accountDeleted();
      await prove(user, current, clientAddress);
      await refuseGuessable(
        next,
        { email: user.email, teamNames: await teamNames(sql, userId) },
        "new_password",
      );
      const passwordHash = await passwords.hash(next, { standing: "known", share: userId });
      await retryDeadlocks(LIMITS.portal.transactionAttempts, () =>
        publisher.transact(async (tx) => {
          if (!(await lockUser(tx, user))) throw invalidCredentials();
          await shareLockSession(tx, actor);
          await setPassword(tx, userId, passwordHash);
          await deleteSessionsOfUser(tx, userId, sessionId);
          await deleteResetsOfUser(tx, userId);
        }),
      );
    },
  };
}
