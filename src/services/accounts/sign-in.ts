import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { isId, newId } from "../../core/ids.ts";
import { insertMembership, insertTeam } from "../../store/accounts.ts";
import type { Database, Transaction } from "../../store/postgres.ts";
import {
  findSignIn,
  holdMembership,
  insertUser,
  listTeamsOfUser,
  lockUser,
  type UserRow,
  type UserTeamRow,
} from "../../store/users.ts";
import type { ChangePublisher } from "../authenticate/publish.ts";
import { readEmail, requireEmail } from "./email-address.ts";
import { refuseGuessable } from "./guessable-password.ts";
import type { Passwords } from "./password.ts";
import type { PortalLimits } from "./portal-limits.ts";
import { invalidCredentials, openSession, type SignedIn } from "./portal-session.ts";

interface Registration {
  email: string;
  password: string;
  /** Of the team that is made. */
  teamName: string;
}

export interface SignIn {
  /**
   * Makes an account with a team of the tier free, of which it is the owner. An account whose teams have all gone comes
   * back by its password: it is given such a team.
   * @throws AppError `registration_closed`; `validation_failed`; `account_exists`, also when the account has no password
   * yet: whoever registers has not shown that the address is theirs; `rate_limited`; `overloaded`
   */
  register(account: Registration, clientAddress: string): Promise<SignedIn>;
  /**
   * Begins a session in one of the user's teams: the one that is named, else the one joined first.
   * @throws AppError `invalid_credentials`, the same and as slowly whatever is wrong; `rate_limited`; `overloaded`
   */
  login(
    credentials: { email: string; password: string; teamId: string | null },
    clientAddress: string,
  ): Promise<SignedIn>;
}

export interface SignInDeps {
  sql: Database;
  publisher: ChangePublisher;
  passwords: Passwords;
  limits: PortalLimits;
  registration: Config["registration"];
}

const accountExists = () =>
  new AppError("account_exists", "This address has an account: sign in, or ask for a new password.");

export function createSignIn(deps: SignInDeps): SignIn {
  const { sql, publisher, passwords, limits } = deps;

  async function beginTeam(tx: Transaction, user: UserRow, name: string): Promise<SignedIn> {
    const team: UserTeamRow = { id: newId("team"), name, tier: "free", role: "owner" };
    await insertTeam(tx, team);
    await insertMembership(tx, { teamId: team.id, userId: user.id, role: team.role });
    return openSession(tx, user, team);
  }

  async function makeAccount(account: Registration, clientAddress: string): Promise<SignedIn> {
    const { email, password, teamName } = account;
    const user = { id: newId("usr"), email, passwordHash: await passwords.hash(password, "stranger") };
    const signedIn = await publisher.transact(async (tx) => {
      if (!(await insertUser(tx, user))) throw accountExists();
      return beginTeam(tx, user, teamName);
    });
    await limits.proven(email, clientAddress);
    return signedIn;
  }

  /** The same is done, counted and answered for every account that cannot come back, so that none is told apart. */
  async function comeBack(
    { user, team }: { user: UserRow; team: UserTeamRow | null },
    { password, teamName }: Registration,
    clientAddress: string,
  ): Promise<SignedIn> {
    const attempt = await limits.signIn(user.email, clientAddress);
    const matches = await passwords.verify(user.passwordHash, password, attempt.standing);
    if (!matches || team !== null) throw accountExists();
    const signedIn = await publisher.transact(async (tx) => {
      // Who joins a team locks the user too: there is none that was joined meanwhile.
      if (!(await lockUser(tx, user))) throw accountExists();
      if ((await listTeamsOfUser(tx, user.id, 1)).length > 0) throw accountExists();
      return beginTeam(tx, user, teamName);
    });
    await attempt.succeeded();
    return signedIn;
  }

  return {
    async register(account, clientAddress) {
      if (deps.registration !== "open")
        throw new AppError("registration_closed", "Accounts are not made here by registration.");
      const email = requireEmail(account.email);
      await refuseGuessable(account.password, { email, teamNames: [account.teamName] }, "password");
      await limits.registration(clientAddress);
      const known = await findSignIn(sql, email, null);
      return known === null
        ? makeAccount({ ...account, email }, clientAddress)
        : comeBack(known, account, clientAddress);
    },

    async login(credentials, clientAddress) {
      // What is no address has no account either, and is counted and checked like any other.
      const email = readEmail(credentials.email) ?? "";
      const { teamId } = credentials;
      const attempt = await limits.signIn(email, clientAddress);
      // An id that cannot be one is sent on as one that is nobody's, so that the same is done for it.
      const named = teamId === null || isId("team", teamId) ? teamId : "";
      const found = await findSignIn(sql, email, named);
      const matches = await passwords.verify(
        found?.user.passwordHash ?? null,
        credentials.password,
        attempt.standing,
      );
      if (!matches || found === null || found.team === null) throw invalidCredentials();
      const { user, team } = found;
      const signedIn = await publisher.transact(async (tx) => {
        if (!(await holdMembership(tx, team.id, user.id))) throw invalidCredentials();
        if (!(await lockUser(tx, user))) throw invalidCredentials();
        return openSession(tx, user, team);
      });
      await attempt.succeeded();
      return signedIn;
    },
  };
}
