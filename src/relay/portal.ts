import { LIMITS } from "../core/limits.ts";
import type { Chore } from "./relay.ts";

export interface MailChoreDeps {
  /** See `SendResets`. */
  sendResets(isStopping: () => boolean): Promise<void>;
  /** See `SendConfirmations`. */
  sendConfirmations(isStopping: () => boolean): Promise<void>;
  deliverMail(isStopping: () => boolean): Promise<void>;
}

/** What of accounts is left behind: sessions, invitations, links and mails that have expired. A step deletes a bounded number. */
export function portalChores(prune: readonly (() => Promise<void>)[]): Chore[] {
  async function run(isStopping: () => boolean): Promise<void> {
    for (const step of prune) if (!isStopping()) await step();
  }
  return [{ name: "prune accounts", everyMs: LIMITS.portal.pruneEveryMs, run }];
}

/** Outgoing mail, where it is configured. */
export function mailChores({ sendResets, sendConfirmations, deliverMail }: MailChoreDeps): Chore[] {
  return [
    { name: "answer requests for a new password", everyMs: LIMITS.portal.resetsEveryMs, run: sendResets },
    { name: "mail registrations", everyMs: LIMITS.portal.resetsEveryMs, run: sendConfirmations },
    { name: "deliver mail", everyMs: LIMITS.mail.deliverEveryMs, run: deliverMail },
  ];
}
