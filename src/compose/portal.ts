import { availableParallelism } from "node:os";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import { type AcceptInvite, createAcceptInvite } from "../services/accounts/accept-invite.ts";
import { createSharedAttemptCounters } from "../services/accounts/attempt-counters.ts";
import { createInvites, type Invites } from "../services/accounts/invites.ts";
import { createOwnAccount, type OwnAccount } from "../services/accounts/own-account.ts";
import { createPasswords } from "../services/accounts/password.ts";
import { createPasswordReset, type PasswordReset } from "../services/accounts/password-reset.ts";
import { createPortalLimits } from "../services/accounts/portal-limits.ts";
import { createRegistration, type Registration } from "../services/accounts/registration.ts";
import { createSignIn, type SignIn } from "../services/accounts/sign-in.ts";
import type { ChangePublisher } from "../services/authenticate/publish.ts";
import { createMailQueue } from "../services/mail/queue.ts";
import { createAttemptCounters } from "../store/attempt-counters.ts";
import { createMailSecretBox, portalBaseUrl } from "./portal-mail.ts";
import type { Stores } from "./stores.ts";

export interface Portal {
  signIn: SignIn;
  registration: Registration;
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

/** What the routes of accounts and invitations run on. */
export function composePortal(deps: Deps & { clock: Clock; publisher: ChangePublisher }): Portal {
  const { config, stores, publisher, clock, log } = deps;
  const { sql, redis } = stores;
  const shared = createAttemptCounters(redis.commands);
  const limits = createPortalLimits(createSharedAttemptCounters({ shared, clock, log }));
  const account = { sql, publisher, passwords: createPasswords(availableParallelism()), limits };
  const box = createMailSecretBox(config);
  const { registration } = config;
  return {
    signIn: createSignIn(account),
    registration: createRegistration({ ...account, registration, isMailed: box !== null }),
    ownAccount: createOwnAccount(account),
    passwordReset: createPasswordReset({ ...account, box }),
    invites: createInvites({
      sql,
      limits,
      queue: box === null ? null : createMailQueue(box),
      baseUrl: portalBaseUrl(config),
    }),
    acceptInvite: createAcceptInvite({ ...account, registration }),
  };
}
