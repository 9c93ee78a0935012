import type { Config } from "../config/config.ts";
import { accountPruningTasks, mailPeriodicTasks } from "../features/accounts/account-tasks.ts";
import { pruneInvites } from "../features/accounts/invite-sql.ts";
import { pruneResets } from "../features/accounts/password-reset-sql.ts";
import { pruneRegistrations } from "../features/accounts/registrations.ts";
import { createSendConfirmations } from "../features/accounts/send-confirmations.ts";
import { createSendResets } from "../features/accounts/send-resets.ts";
import { pruneSessions } from "../features/accounts/session-sql.ts";
import { createDeliverMail } from "../features/mail/deliver.ts";
import { createMailOutbox } from "../features/mail/mail-outbox.ts";
import { createMailTransport } from "../features/mail/mail-transport.ts";
import { createMailQueue } from "../features/mail/queue.ts";
import type { Logger } from "../platform/log.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import { createMailSecretBox, portalBaseUrl } from "./portal-mail.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** The relay's periodic tasks for accounts. */
export function composePortalPeriodicTasks({ config, stores, log }: Deps): PeriodicTask[] {
  const { sql } = stores;
  const outbox = createMailOutbox(sql);
  const tasks = accountPruningTasks([
    () => pruneSessions(sql),
    () => pruneInvites(sql),
    () => pruneResets(sql),
    () => pruneRegistrations(sql),
    () => outbox.prune(),
  ]);
  const box = createMailSecretBox(config);
  const { mail } = config;
  if (box === null || mail === null) return tasks;
  const queue = createMailQueue(box);
  const send = createMailTransport(mail);
  const mails = mailPeriodicTasks({
    sendConfirmations: createSendConfirmations({ sql, queue, baseUrl: portalBaseUrl(config), log }),
    sendResets: createSendResets({ sql, box, queue, baseUrl: portalBaseUrl(config), log }),
    deliverMail: createDeliverMail({ outbox, queue, send, random: Math.random, log }),
  });
  return [...tasks, ...mails];
}
