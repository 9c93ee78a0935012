import type { Config } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Database, TeamTransaction } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { insertMembership } from "../identity/account-sql.ts";
import type { Actor } from "../identity/actor.ts";
import { hashSecret, isWellFormedToken } from "../identity/api-key.ts";
import { countMembers, findMember } from "../identity/member-sql.ts";
import { findTeam, lockTeam } from "../identity/team-sql.ts";
import { findUserByEmail, insertUser, lockUser, type UserRow } from "../identity/users.ts";
import { recordEvent } from "../webhooks/outbox.ts";
import { guessableFault } from "./guessable-password.ts";
import { findInvite, type InviteRow, type TokenInvite, takeInvite } from "./invite-sql.ts";
import { type Passwords, passwordFault } from "./password.ts";
import { tokenUnusable } from "./password-reset.ts";
import type { PortalLimits, SignInAttempt } from "./portal-limits.ts";
import { openSession, type SignedIn, shareLockSession } from "./portal-session.ts";

/** A request to accept an invitation. */
export interface InviteAcceptance {
  token: string;
  /** The password of the invited address's account, or of the account to create. */
  password: string | null;
  /** The credential sent along; null: none. */
  actor: Actor | null;
  clientAddress: string;
}

/**
 * Accepts an invitation, once: makes the account of its address a member of the team and opens a session there.
 *
 * The token proves an invitation, not an identity. An existing account joins only with its owner's session or password. A
 * new account is created with the password. If mail is configured, only the mailed token may create it, since the inviter's
 * token does not prove the mailbox.
 *
 * An invitation is valid as long as its inviter may invite: the database revokes it, under the team's lock, when the
 * inviter leaves the team or loses the role.
 * @throws AppError `token_unusable`; `already_member`, which uses the token up; `invalid_credentials`; `session_required`
 *   when a key was sent along; `registration_closed`; `account_exists` when the account was created during the call;
 *   `limit_reached`; `validation_failed`; `rate_limited` and `overloaded` as for signing in
 */
export type AcceptInvite = (acceptance: InviteAcceptance) => Promise<SignedIn>;

export interface AcceptInviteDeps {
  sql: Database;
  publisher: ChangePublisher;
  passwords: Passwords;
  limits: PortalLimits;
  registration: Config["registration"];
}

/** The joining user; `made`: the account must still be created, with the attempt to settle then. */
interface Joiner {
  user: UserRow;
  /** The session that proves the identity; null: a password did. */
  session: Actor | null;
  made: SignInAttempt | null;
}

const notProven = () =>
  new AppError(
    "invalid_credentials",
    "Sign in to the account of the invited address, or send its password. If there is none, and the invitation was mailed, " +
      "the link in the mail creates it.",
  );

const teamIsFull = () =>
  new AppError("limit_reached", `A team may have at most ${LIMITS.team.members} members.`);

function wrongPassword(fault: string): AppError {
  return new AppError("validation_failed", `password (body) ${fault}.`, {
    errors: [{ path: "password", message: fault }],
  });
}

async function newPasswordFault(
  sql: Database,
  { email, teamId }: InviteRow,
  password: string,
): Promise<string | null> {
  const team = await findTeam(sql, teamId);
  const teamNames = team === null ? [] : [team.name];
  return passwordFault(password) ?? (await guessableFault(password, { email, teamNames }));
}

export function createAcceptInvite(deps: AcceptInviteDeps): AcceptInvite {
  const { sql, publisher, passwords, limits } = deps;

  /** The account to create. All refusals come before the hash: a token may be sent any number of times. */
  async function newcomer(
    { email, teamId }: InviteRow,
    password: string,
    attempt: SignInAttempt,
  ): Promise<Joiner> {
    if (deps.registration === "closed")
      throw new AppError("registration_closed", "Registration is closed: ask the operator for an account.");
    if ((await countMembers(sql, teamId)) >= LIMITS.team.members) throw teamIsFull();
    const passwordHash = await passwords.hash(password, attempt);
    return { user: { id: newId("usr"), email, passwordHash }, session: null, made: attempt };
  }

  /**
   * The inviter has the token too. So errors of the password, counted attempts and timing are the same whether the address
   * has an account or not. An existing password is valid even if it predates today's rules.
   */
  async function identify(invite: TokenInvite, accepting: InviteAcceptance): Promise<Joiner> {
    const { actor, password, clientAddress } = accepting;
    const user = await findUserByEmail(sql, invite.email);
    if (user !== null && actor?.userId === user.id) return { user, session: actor, made: null };
    if (password === null) throw wrongPassword("is required without a session of the invited address");
    const attempt = await limits.signIn(invite.email, clientAddress);
    const fault = await newPasswordFault(sql, invite, password);
    if (user === null && fault === null && invite.makesAccount) return newcomer(invite, password, attempt);
    if (!(await passwords.verify(user?.passwordHash ?? null, password, attempt)) || user === null)
      throw fault === null ? notProven() : wrongPassword(fault);
    await attempt.succeeded();
    return { user, session: null, made: null };
  }

  /** null: the user is a member already; the invitation is used up all the same. */
  async function join(tx: TeamTransaction, invite: InviteRow, joiner: Joiner): Promise<SignedIn | null> {
    const { user, session } = joiner;
    const isNew = joiner.made !== null;
    const { teamId, role } = invite;
    if (!(await lockTeam(tx, teamId)) || !(await takeInvite(tx, invite))) throw tokenUnusable();
    if (isNew && !(await insertUser(tx, user)))
      throw new AppError("account_exists", "The account was created meanwhile: accept as its owner.");
    if (!isNew && !(await lockUser(tx, user))) throw notProven();
    if (session !== null) await shareLockSession(tx, session);
    if ((await findMember(tx, teamId, user.id)) !== null) return null;
    if ((await countMembers(tx, teamId)) >= LIMITS.team.members) throw teamIsFull();
    const team = await findTeam(tx, teamId);
    if (team === null) throw tokenUnusable();
    await insertMembership(tx, { teamId, userId: user.id, role });
    const data = { team_id: teamId, user_id: user.id, email: user.email, role };
    await recordEvent(tx, { teamId, type: "team.member_joined", livemode: true, data });
    return openSession(tx, user, { id: teamId, name: team.name, tier: team.tier, role });
  }

  return async (accepting) => {
    const { token, actor } = accepting;
    if (actor !== null && !actor.isSession)
      throw new AppError("session_required", "Accept with your portal session or password, not with a key.");
    const hash = isWellFormedToken("inv", token) ? Buffer.from(hashSecret(token), "hex") : null;
    const invite = hash === null ? null : await findInvite(sql, hash);
    if (invite === null) throw tokenUnusable();
    const joiner = await identify(invite, accepting);
    const signedIn = await publisher.transact((tx) => join(tx, invite, joiner), invite.teamId);
    if (signedIn === null) throw new AppError("already_member", "You are already a member of this team.");
    await joiner.made?.succeeded();
    return signedIn;
  };
}
