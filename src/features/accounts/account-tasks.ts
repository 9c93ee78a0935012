import { LIMITS } from "../../config/limits/limits.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";

export interface MailPeriodicTaskDeps {
  /** See `SendResets`. */
  sendResets(isStopping: () => boolean): Promise<void>;
  /** See `SendConfirmations`. */
  sendConfirmations(isStopping: () => boolean): Promise<void>;
  deliverMail(isStopping: () => boolean): Promise<void>;
}

/** Deletes expired sessions, invitations, links and mails. A step deletes a bounded number. */
export function accountPruningTasks(prune: readonly (() => Promise<void>)[]): PeriodicTask[] {
  async function run(isStopping: () => boolean): Promise<void> {
    for (const step of prune) if (!isStopping()) await step();
  }
  return [{ name: "prune accounts", everyMs: LIMITS.portal.pruneEveryMs, run }];
}

/** Outgoing mail, where it is configured. */
export function mailPeriodicTasks({
  sendResets,
  sendConfirmations,
  deliverMail,
}: MailPeriodicTaskDeps): PeriodicTask[] {
  return [
    { name: "answer requests for a new password", everyMs: LIMITS.portal.resetsEveryMs, run: sendResets },
    { name: "mail registrations", everyMs: LIMITS.portal.resetsEveryMs, run: sendConfirmations },
    { name: "deliver mail", everyMs: LIMITS.mail.deliverEveryMs, run: deliverMail },
  ];
}
