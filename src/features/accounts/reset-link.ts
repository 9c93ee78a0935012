import type { Database } from "../../stores/postgres/postgres.ts";
import { hashSecret, newSecret } from "../identity/api-key.ts";
import { findUserByEmail } from "../identity/users.ts";
import { portalLink } from "../mail/texts.ts";
import { OperationError } from "../teams/operations.ts";
import { deleteResetsOfUser, insertReset } from "./password-reset-sql.ts";

/** Valid for one use within LIMITS.portal.resetTtlMs. The token is stored only as a hash. */
export interface ResetLink {
  token: string;
  link: string;
}

/**
 * Creates a password reset link for the account of an address, in place of all its others. The operator hands it over. No
 * other recovery exists without mail, or for an account without a password.
 * @throws OperationError when the address has no account, or concurrent requests use up its links
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
        throw new OperationError("concurrent requests for links of this account; retry");
      return { token, link: portalLink(baseUrl, "reset-password", { token, email: user.email }) };
    });
}
