import type { Config } from "../../config/config.ts";
import { clientShare } from "../../platform/client-network.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { insertMembership, insertTeam } from "../identity/account-sql.ts";
import { hashSecret, isWellFormedToken } from "../identity/api-key.ts";
import { requireEmail } from "../identity/email-address.ts";
import {
  findSignIn,
  insertUser,
  listTeamsOfUser,
  lockUser,
  type UserRow,
  type UserTeamRow,
} from "../identity/users.ts";
import { refuseGuessable } from "./guessable-password.ts";
import type { HashRequester, Passwords } from "./password.ts";
import { tokenUnusable } from "./password-reset.ts";
import type { PortalLimits, SignInAttempt } from "./portal-limits.ts";
import { openSession, type SignedIn } from "./portal-session.ts";
import { findRegistration, insertRegistration, takeRegistration } from "./registrations.ts";

export interface NewAccount {
  email: string;
  password: string;
  /** Name of the new team. */
  teamName: string;
}

/** The answer to a registration: a session, or the address that gets a mail. */
export type Registered = { made: SignedIn } | { mailedTo: string };

/**
 * Creates accounts, each with a team of the tier free that it owns. If mail is configured, the address is confirmed first.
 * The relay looks up whether it has an account, so that neither the answer nor its timing reveals that. An account without
 * a team registers again with its password, and gets such a team.
 */
export interface Registration {
  /**
   * @throws AppError `registration_closed`; `validation_failed`; `rate_limited`; `overloaded`; without mail also
   *   `account_exists`, even when the account has no password yet: a registration does not prove the address
   */
  register(account: NewAccount, clientAddress: string): Promise<Registered>;
  /**
   * Completes a registration, once, by the mailed token and the registration's password: the owner of the mailbox must not
   * get an account whose password someone else chose.
   * @throws AppError `registration_closed`; `token_unusable`; `invalid_credentials`; `account_exists`; `rate_limited`;
   *   `overloaded`
   */
  confirm(token: string, password: string, clientAddress: string): Promise<SignedIn>;
}

export interface RegistrationDeps {
  sql: Database;
  publisher: ChangePublisher;
  passwords: Passwords;
  limits: PortalLimits;
  registration: Config["registration"];
  /** Addresses are confirmed by mail. */
  isMailed: boolean;
}

const unknownClient = (clientAddress: string): HashRequester => ({
  standing: "unknown",
  share: clientShare(clientAddress),
});

const accountExists = () =>
  new AppError("account_exists", "This address has an account: sign in, or reset the password.");

async function createTeamOf(tx: Transaction, user: UserRow, name: string): Promise<SignedIn> {
  const team: UserTeamRow = { id: newId("team"), name, tier: "free", role: "owner" };
  await insertTeam(tx, team);
  await insertMembership(tx, { teamId: team.id, userId: user.id, role: team.role });
  return openSession(tx, user, team);
}

async function makeAccount(
  tx: Transaction,
  account: Omit<UserRow, "id">,
  teamName: string,
): Promise<SignedIn> {
  const user = { ...account, id: newId("usr") };
  if (!(await insertUser(tx, user))) throw accountExists();
  return createTeamOf(tx, user, teamName);
}

async function reuseAccount(tx: Transaction, user: UserRow, teamName: string): Promise<SignedIn> {
  // Joining a team locks the user too: no team was joined meanwhile.
  if (!(await lockUser(tx, user))) throw accountExists();
  if ((await listTeamsOfUser(tx, user.id, 1)).length > 0) throw accountExists();
  return createTeamOf(tx, user, teamName);
}

class TeamRegistration implements Registration {
  readonly #deps: RegistrationDeps;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  async register(account: NewAccount, clientAddress: string): Promise<Registered> {
    this.#requireOpen();
    const email = requireEmail(account.email);
    // Before the password is looked at, which takes up to 3 ms of the event loop.
    await this.#deps.limits.registration(clientAddress);
    await refuseGuessable(account.password, { email, teamNames: [account.teamName] }, "password");
    const asked = { ...account, email };
    return this.#deps.isMailed
      ? this.#note(asked, clientAddress)
      : { made: await this.#makeAtOnce(asked, clientAddress) };
  }

  async confirm(token: string, password: string, clientAddress: string): Promise<SignedIn> {
    this.#requireOpen();
    const hash = isWellFormedToken("reg", token) ? Buffer.from(hashSecret(token), "hex") : null;
    const row = hash === null ? null : await findRegistration(this.#deps.sql, hash);
    if (row === null) throw tokenUnusable();
    const { email, passwordHash, teamName } = row;
    const attempt = await this.#deps.limits.signIn(email, clientAddress);
    const known = await findSignIn(this.#deps.sql, email, null);
    await this.#requirePassword(known === null ? passwordHash : known.user.passwordHash, password, attempt);
    const signedIn = await this.#deps.publisher.transact(async (tx) => {
      if (!(await takeRegistration(tx, row))) throw tokenUnusable();
      return known === null
        ? makeAccount(tx, { email, passwordHash }, teamName)
        : reuseAccount(tx, known.user, teamName);
    });
    await attempt.succeeded();
    return signedIn;
  }

  #requireOpen(): void {
    if (this.#deps.registration !== "open")
      throw new AppError("registration_closed", "Registration is closed.");
  }

  /** The same is done and answered whether the address has an account or not. */
  async #note({ email, password, teamName }: NewAccount, clientAddress: string): Promise<Registered> {
    const passwordHash = await this.#deps.passwords.hash(password, unknownClient(clientAddress));
    if (await this.#deps.limits.registrationMail(email)) {
      const noted = await insertRegistration(this.#deps.sql, {
        id: newId("req"),
        email,
        passwordHash,
        teamName,
      });
      if (!noted)
        throw new AppError("overloaded", "Too many registrations are waiting. Retry after 60 s.", {
          retryAfterS: 60,
        });
    }
    return { mailedTo: email };
  }

  /**
   * The same is done, counted and answered for every account that cannot come back, so that the answers do not tell them
   * apart.
   */
  async #makeAtOnce(account: NewAccount, clientAddress: string): Promise<SignedIn> {
    const { email, password, teamName } = account;
    const known = await findSignIn(this.#deps.sql, email, null);
    if (known === null) {
      const passwordHash = await this.#deps.passwords.hash(password, unknownClient(clientAddress));
      const signedIn = await this.#deps.publisher.transact((tx) =>
        makeAccount(tx, { email, passwordHash }, teamName),
      );
      await this.#deps.limits.resetAfterProof(email, clientAddress);
      return signedIn;
    }
    const attempt = await this.#deps.limits.signIn(known.user.email, clientAddress);
    const matches = await this.#deps.passwords.verify(known.user.passwordHash, password, attempt);
    if (!matches || known.team !== null) throw accountExists();
    const signedIn = await this.#deps.publisher.transact((tx) => reuseAccount(tx, known.user, teamName));
    await attempt.succeeded();
    return signedIn;
  }

  /** Checks the password of the registration, or of the account that the address has by now. */
  async #requirePassword(stored: string | null, password: string, attempt: SignInAttempt) {
    if (!(await this.#deps.passwords.verify(stored, password, attempt)))
      throw new AppError("invalid_credentials", "This is not the password of the registration.");
  }
}

export function createRegistration(deps: RegistrationDeps): Registration {
  return new TeamRegistration(deps);
}
