import { isId } from "../../platform/ids.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { readEmail } from "../identity/email-address.ts";
import { findSignIn, lockUser, shareLockMembership } from "../identity/users.ts";
import type { Passwords } from "./password.ts";
import type { PortalLimits } from "./portal-limits.ts";
import { invalidCredentials, openSession, type SignedIn } from "./portal-session.ts";

export interface SignIn {
  /**
   * Opens a session in one of the user's teams: the named one, else the one joined first.
   * @throws AppError `invalid_credentials`, with the same text and timing whatever is wrong; `rate_limited`; `overloaded`
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
}

export function createSignIn(deps: SignInDeps): SignIn {
  const { sql, publisher, passwords, limits } = deps;

  return {
    async login(credentials, clientAddress) {
      // An invalid address has no account, and is counted and checked like any other.
      const email = readEmail(credentials.email) ?? "";
      const { teamId } = credentials;
      const attempt = await limits.signIn(email, clientAddress);
      // A malformed id is replaced by one that matches nothing, so that the same work is done.
      const named = teamId === null || isId("team", teamId) ? teamId : "";
      const found = await findSignIn(sql, email, named);
      const matches = await passwords.verify(found?.user.passwordHash ?? null, credentials.password, attempt);
      if (!matches || found === null || found.team === null) throw invalidCredentials();
      const { user, team } = found;
      const signedIn = await publisher.transact(async (tx) => {
        if (!(await shareLockMembership(tx, team.id, user.id))) throw invalidCredentials();
        if (!(await lockUser(tx, user))) throw invalidCredentials();
        return openSession(tx, user, team);
      });
      await attempt.succeeded();
      return signedIn;
    },
  };
}
