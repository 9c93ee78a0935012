import { deleteResetsOfUser, insertReset } from "../../store/password-resets.ts";
import type { Database } from "../../store/postgres.ts";
import { findUserByEmail } from "../../store/users.ts";
import { hashSecret, newSecret } from "../api-key.ts";
import { portalLink } from "../mail/texts.ts";
import { OperationError } from "../teams/operations.ts";

/** Good for one use within LIMITS.portal.resetTtlMs. The token is nowhere else: it is stored as a hash. */
export interface ResetLink {
  token: string;
  link: string;
}

/**
 * Makes a link for a new password for the account of an address, in place of all others of the account, for the operator
 * to hand over: where no mail is sent there is no other way back, nor for an account that was made without a password.
 * @throws OperationError when the address has no account, or others take its places for links meanwhile
 */
export type MakeResetLink = (email: string) => Promise<ResetLink>;

export function createMakeResetLink({ sql, baseUrl }: { sql: Database; baseUrl: string }): MakeResetLink {
  return (email) =>
    sql.begin(async (tx) => {
      const user = await findUserByEmail(tx, email);
      if (user === null) throw new OperationError("this address has no account");
      const token = newSecret("pwr");
      await deleteResetsOfUser(tx, user.id);
      if (!(await insertReset(tx, user.id, Buffer.from(hashSecret(token), "hex"))))
        throw new OperationError("others ask for links for this account at this moment; try again");
      return { token, link: portalLink(baseUrl, "reset-password", token) };
    });
}
