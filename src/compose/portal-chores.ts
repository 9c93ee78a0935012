import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import { createMailTransport } from "../relay/mail-transport.ts";
import { mailChores, portalChores } from "../relay/portal.ts";
import type { Chore } from "../relay/relay.ts";
import { createSendConfirmations } from "../services/accounts/send-confirmations.ts";
import { createSendResets } from "../services/accounts/send-resets.ts";
import { createDeliverMail } from "../services/mail/deliver.ts";
import { createMailQueue } from "../services/mail/queue.ts";
import { pruneInvites } from "../store/invites.ts";
import { createMailOutbox } from "../store/mail-outbox.ts";
import { pruneResets } from "../store/password-resets.ts";
import { pruneRegistrations } from "../store/registrations.ts";
import { pruneSessions } from "../store/sessions.ts";
import { baseUrl, mailBox } from "./portal-mail.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** What the relay does for accounts. */
export function composePortalChores({ config, stores, log }: Deps): Chore[] {
  const { sql } = stores;
  const outbox = createMailOutbox(sql);
  const chores = portalChores([
    () => pruneSessions(sql),
    () => pruneInvites(sql),
    () => pruneResets(sql),
    () => pruneRegistrations(sql),
    () => outbox.prune(),
  ]);
  const box = mailBox(config);
  const { mail } = config;
  if (box === null || mail === null) return chores;
  const queue = createMailQueue(box);
  const send = createMailTransport(mail);
  const mails = mailChores({
    sendConfirmations: createSendConfirmations({ sql, queue, baseUrl: baseUrl(config), log }),
    sendResets: createSendResets({ sql, box, queue, baseUrl: baseUrl(config), log }),
    deliverMail: createDeliverMail({ outbox, queue, send, random: Math.random, log }),
  });
  return [...chores, ...mails];
}
