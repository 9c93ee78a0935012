import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import { createMailTransport } from "../relay/mail-transport.ts";
import { accountPruningTasks, mailPeriodicTasks } from "../relay/portal.ts";
import type { PeriodicTask } from "../relay/relay.ts";
import { createSendConfirmations } from "../services/accounts/send-confirmations.ts";
import { createSendResets } from "../services/accounts/send-resets.ts";
import { createDeliverMail } from "../services/mail/deliver.ts";
import { createMailQueue } from "../services/mail/queue.ts";
import { pruneInvites } from "../store/invites.ts";
import { createMailOutbox } from "../store/mail-outbox.ts";
import { pruneResets } from "../store/password-resets.ts";
import { pruneRegistrations } from "../store/registrations.ts";
import { pruneSessions } from "../store/sessions.ts";
import { createMailSecretBox, portalBaseUrl } from "./portal-mail.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** What the relay does for accounts. */
export function composePortalPeriodicTasks({ config, stores, log }: Deps): PeriodicTask[] {
  const { sql } = stores;
  const outbox = createMailOutbox(sql);
  const chores = accountPruningTasks([
    () => pruneSessions(sql),
    () => pruneInvites(sql),
    () => pruneResets(sql),
    () => pruneRegistrations(sql),
    () => outbox.prune(),
  ]);
  const box = createMailSecretBox(config);
  const { mail } = config;
  if (box === null || mail === null) return chores;
  const queue = createMailQueue(box);
  const send = createMailTransport(mail);
  const mails = mailPeriodicTasks({
    sendConfirmations: createSendConfirmations({ sql, queue, baseUrl: portalBaseUrl(config), log }),
    sendResets: createSendResets({ sql, box, queue, baseUrl: portalBaseUrl(config), log }),
    deliverMail: createDeliverMail({ outbox, queue, send, random: Math.random, log }),
  });
  return [...chores, ...mails];
}
