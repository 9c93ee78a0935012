import { availableParallelism } from "node:os";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { localUrl } from "../core/local-url.ts";
import type { Logger } from "../core/log.ts";
import { createMailTransport } from "../relay/mail-transport.ts";
import { mailChores, portalChores } from "../relay/portal.ts";
import type { Chore } from "../relay/relay.ts";
import { type AcceptInvite, createAcceptInvite } from "../services/accounts/accept-invite.ts";
import { createAttempts } from "../services/accounts/attempt-counters.ts";
import { createInvites, type Invites } from "../services/accounts/invites.ts";
import { createOwnAccount, type OwnAccount } from "../services/accounts/own-account.ts";
import { createPasswords } from "../services/accounts/password.ts";
import { createPasswordReset, type PasswordReset } from "../services/accounts/password-reset.ts";
import { createPortalLimits } from "../services/accounts/portal-limits.ts";
import { createSendResets } from "../services/accounts/send-resets.ts";
import { createSignIn, type SignIn } from "../services/accounts/sign-in.ts";
import type { ChangePublisher } from "../services/authenticate/publish.ts";
import { createDeliverMail } from "../services/mail/deliver.ts";
import { createMailQueue } from "../services/mail/queue.ts";
import { createSecretBox, type SecretBox } from "../services/secret-box.ts";
import { createAttemptCounters } from "../store/attempt-counters.ts";
import { pruneInvites } from "../store/invites.ts";
import { createMailOutbox } from "../store/mail-outbox.ts";
import { pruneResets } from "../store/password-resets.ts";
import { pruneSessions } from "../store/sessions.ts";
import type { Stores } from "./stores.ts";

export interface Portal {
  signIn: SignIn;
  ownAccount: OwnAccount;
  passwordReset: PasswordReset;
  invites: Invites;
  acceptInvite: AcceptInvite;
}

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** null: no mail is sent. The configuration sees to it that there is a key when there is a mail server. */
function mailBox({ config }: Deps): SecretBox | null {
  return config.mail === null || config.secretsKey === null ? null : createSecretBox(config.secretsKey);
}

/** Where the links of mails lead. */
function baseUrl({ config }: Deps): string {
  return config.http.publicUrl ?? localUrl(config.http.host, config.http.port);
}

/** What the routes of accounts and invitations run on. */
export function composePortal(deps: Deps & { clock: Clock; publisher: ChangePublisher }): Portal {
  const { config, stores, publisher, clock, log } = deps;
  const { sql, redis } = stores;
  const shared = createAttemptCounters(redis.commands);
  const limits = createPortalLimits(createAttempts({ shared, clock, log }));
  const account = { sql, publisher, passwords: createPasswords(availableParallelism()), limits };
  const box = mailBox(deps);
  const { registration } = config;
  return {
    signIn: createSignIn({ ...account, registration }),
    ownAccount: createOwnAccount(account),
    passwordReset: createPasswordReset({ ...account, box }),
    invites: createInvites({
      sql,
      limits,
      queue: box === null ? null : createMailQueue(box),
      baseUrl: baseUrl(deps),
    }),
    acceptInvite: createAcceptInvite({ ...account, registration }),
  };
}

/** What the relay does for accounts. */
export function composePortalChores(deps: Deps): Chore[] {
  const { sql } = deps.stores;
  const { log } = deps;
  const outbox = createMailOutbox(sql);
  const chores = portalChores([
    () => pruneSessions(sql),
    () => pruneInvites(sql),
    () => pruneResets(sql),
    () => outbox.prune(),
  ]);
  const box = mailBox(deps);
  const { mail } = deps.config;
  if (box === null || mail === null) return chores;
  const queue = createMailQueue(box);
  const send = createMailTransport(mail);
  const mails = mailChores({
    sendResets: createSendResets({ sql, box, queue, baseUrl: baseUrl(deps), log }),
    deliverMail: createDeliverMail({ outbox, queue, send, random: Math.random, log }),
  });
  return [...chores, ...mails];
}
