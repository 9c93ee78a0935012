import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { retryDeadlocks } from "../../stores/postgres/deadlock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { hashSecret, isWellFormedToken } from "../identity/api-key.ts";
import { requireEmail } from "../identity/email-address.ts";
import { setPassword, teamNames } from "../identity/users.ts";
import { refuseGuessable } from "./guessable-password.ts";
import type { Passwords } from "./password.ts";
import { findReset, insertResetRequest, takeReset } from "./password-reset-sql.ts";
import type { PortalLimits } from "./portal-limits.ts";
import { deleteSessionsOfUser } from "./session-sql.ts";

/** A new password by a mailed link. */
export interface PasswordReset {
  /**
   * Records a request for a link. The relay looks up whether the address has an account, so that neither the answer nor its
   * timing reveals it.
   * @throws AppError `feature_unconfigured` without outgoing mail; `validation_failed`; `rate_limited`; `overloaded`
   */
  request(email: string, clientAddress: string): Promise<void>;
  /**
   * Sets the password and ends all sessions of the user. Uses up the token and all others of the user. It proves the
   * account, so its counters of failed sign-ins are reset.
   * @throws AppError `token_unusable`; `validation_failed` for a password that is easily guessed; `overloaded`
   */
  confirm(token: string, password: string, clientAddress: string): Promise<void>;
}

export interface PasswordResetDeps {
  sql: Database;
  publisher: ChangePublisher;
  passwords: Passwords;
  limits: PortalLimits;
  /** null: no mail is sent here. */
  box: SecretBox | null;
}

export const resetRequestContext = (id: string) => `password_reset_requests.sealed_email:${id}`;

export const tokenUnusable = () => new AppError("token_unusable", "Invalid, used, revoked or expired token.");

export function createPasswordReset(deps: PasswordResetDeps): PasswordReset {
  const { sql, publisher, passwords, limits, box } = deps;
  return {
    async request(text, clientAddress) {
      if (box === null)
        throw new AppError(
          "feature_unconfigured",
          "Mail is not configured: ask the operator for a password reset link.",
        );
      const email = requireEmail(text);
      await limits.passwordReset(clientAddress);
      const id = newId("req");
      const sealedEmail = box.seal(email, resetRequestContext(id));
      const noted = await insertResetRequest(sql, { id, sealedEmail });
      if (!noted)
        throw new AppError("overloaded", "Too many password reset requests are waiting. Retry after 60 s.", {
          retryAfterS: 60,
        });
    },

    async confirm(token, password, clientAddress) {
      if (!isWellFormedToken("pwr", token)) throw tokenUnusable();
      const hash = Buffer.from(hashSecret(token), "hex");
      const user = await findReset(sql, hash);
      if (user === null) throw tokenUnusable();
      await refuseGuessable(
        password,
        { email: user.email, teamNames: await teamNames(sql, user.id) },
        "new_password",
      );
      const passwordHash = await passwords.hash(password, { standing: "known", share: user.id });
      await retryDeadlocks(LIMITS.portal.transactionAttempts, () =>
        publisher.transact(async (tx) => {
          // The user first: a password change locks the user first too.
          await setPassword(tx, user.id, passwordHash);
          if (!(await takeReset(tx, user.id, hash))) throw tokenUnusable();
          await deleteSessionsOfUser(tx, user.id, null);
        }),
      );
      await limits.resetAfterProof(user.email, clientAddress);
    },
  };
}
