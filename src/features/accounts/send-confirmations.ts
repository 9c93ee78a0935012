import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import { hashSecret, newSecret } from "../identity/api-key.ts";
import { findSignIn } from "../identity/users.ts";
import type { MailQueue } from "../mail/queue.ts";
import { accountExistsMail, confirmationMail, portalLink } from "../mail/texts.ts";
import {
  deleteRegistration,
  lockUnmailed,
  type RegistrationRow,
  setRegistrationToken,
} from "./registrations.ts";

export interface SendConfirmationsDeps {
  sql: Database;
  queue: MailQueue;
  baseUrl: string;
  log: Logger;
}

/**
 * Processes waiting registrations, at most LIMITS.portal.registrationsPerRun, and queues a mail for each: a link that
 * confirms the address or, where it has an account with a team, a note that it has one. A failed one is left for the next
 * run and does not stop the others.
 */
export type SendConfirmations = (isStopping: () => boolean) => Promise<void>;

export function createSendConfirmations({
  sql,
  queue,
  baseUrl,
  log,
}: SendConfirmationsDeps): SendConfirmations {
  async function answer(tx: Transaction, { id, email }: RegistrationRow): Promise<void> {
    const known = await findSignIn(tx, email, null);
    if (known !== null && known.team !== null) {
      await deleteRegistration(tx, id);
      // To the address of the account, not to the typed one.
      await queue.enqueue(
        tx,
        accountExistsMail({ to: known.user.email }),
        null,
        LIMITS.portal.registrationTtlMs,
      );
      return;
    }
    const token = newSecret("reg");
    await setRegistrationToken(tx, id, Buffer.from(hashSecret(token), "hex"));
    const link = portalLink(baseUrl, "confirm-registration", { token, email });
    const mail = confirmationMail({ to: email, link, token });
    await queue.enqueue(tx, mail, null, LIMITS.portal.registrationTtlMs);
  }

  /** Processes the oldest after `after`, in a transaction of its own. Returns its id; null: none. */
  async function next(after: string): Promise<string | null> {
    const held: RegistrationRow[] = [];
    try {
      await sql.begin(async (tx) => {
        const row = await lockUnmailed(tx, after);
        if (row === null) return;
        held.push(row);
        await answer(tx, row);
      });
    } catch (error) {
      if (held.length === 0) throw error;
      log.warn({ err: error, request: held[0]?.id }, "cannot mail a registration");
    }
    return held[0]?.id ?? null;
  }

  return async (isStopping) => {
    let after: string | null = "";
    for (let i = 0; i < LIMITS.portal.registrationsPerRun && !isStopping(); i++) {
      after = await next(after);
      if (after === null) return;
    }
  };
}
