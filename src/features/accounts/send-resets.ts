import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { type SecretBox, SecretBoxError } from "../../platform/secret-box.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import { hashSecret, newSecret } from "../identity/api-key.ts";
import { findUserByEmail } from "../identity/users.ts";
import type { MailQueue } from "../mail/queue.ts";
import { portalLink, resetMail } from "../mail/texts.ts";
import { resetRequestContext } from "./password-reset.ts";
import { insertReset, type ResetRequest, takeResetRequest } from "./password-reset-sql.ts";

export interface SendResetsDeps {
  sql: Database;
  box: SecretBox;
  queue: MailQueue;
  baseUrl: string;
  log: Logger;
}

/**
 * Processes waiting password reset requests, at most LIMITS.portal.resetRequestsPerRun, and queues a link for those whose
 * address has an account. A failed one is left for the next run and does not stop the others.
 */
export type SendResets = (isStopping: () => boolean) => Promise<void>;

export function createSendResets({ sql, box, queue, baseUrl, log }: SendResetsDeps): SendResets {
  /** null: sealed with another key; the user will request another link. */
  function readEmail(request: ResetRequest): string | null {
    try {
      return box.open(request.sealedEmail, resetRequestContext(request.id));
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error;
      log.warn({ err: error, request: request.id }, "cannot read a password reset request");
      return null;
    }
  }

  async function answer(tx: Transaction, request: ResetRequest): Promise<void> {
    const email = readEmail(request);
    const user = email === null ? null : await findUserByEmail(tx, email);
    if (user === null) return;
    const token = newSecret("pwr");
    const resetHash = Buffer.from(hashSecret(token), "hex");
    if (!(await insertReset(tx, user.id, resetHash))) return;
    // To the address of the account, not to the typed one.
    const link = portalLink(baseUrl, "reset-password", { token, email: user.email });
    const mail = resetMail({ to: user.email, link, token });
    await queue.enqueue(tx, mail, { resetHash }, LIMITS.portal.resetTtlMs);
  }

  /** Takes and answers the oldest request after `after`, in a transaction of its own. Returns its id; null: none. */
  async function next(after: string): Promise<string | null> {
    const taken: ResetRequest[] = [];
    try {
      await sql.begin(async (tx) => {
        taken.push(...(await takeResetRequest(tx, after)));
        for (const request of taken) await answer(tx, request);
      });
    } catch (error) {
      if (taken.length === 0) throw error;
      log.warn({ err: error, request: taken[0]?.id }, "cannot answer a password reset request");
    }
    return taken[0]?.id ?? null;
  }

  return async (isStopping) => {
    let after: string | null = "";
    for (let i = 0; i < LIMITS.portal.resetRequestsPerRun && !isStopping(); i++) {
      after = await next(after);
      if (after === null) return;
    }
  };
}
