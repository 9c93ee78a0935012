import { availableParallelism } from "node:os";
import type { Config } from "../config/config.ts";
import { type AcceptInvite, createAcceptInvite } from "../features/accounts/accept-invite.ts";
import { createAttemptCounters } from "../features/accounts/attempt-counter-sql.ts";
import { createSharedAttemptCounters } from "../features/accounts/attempt-counters.ts";
import { createInvites, type Invites } from "../features/accounts/invites.ts";
import { createOwnAccount, type OwnAccount } from "../features/accounts/own-account.ts";
import { createPasswords } from "../features/accounts/password.ts";
import { createPasswordReset, type PasswordReset } from "../features/accounts/password-reset.ts";
import { createPortalLimits } from "../features/accounts/portal-limits.ts";
import { createRegistration, type Registration } from "../features/accounts/registration.ts";
import { createSignIn, type SignIn } from "../features/accounts/sign-in.ts";
import type { SignInOptions } from "../features/accounts/sign-in-options.ts";
import type { ChangePublisher } from "../features/auth/publish.ts";
import { createMailQueue } from "../features/mail/queue.ts";
import type { Logger } from "../platform/log.ts";
import type { Clock } from "../platform/time/clock.ts";
import { createMailSecretBox, portalBaseUrl } from "./portal-mail.ts";
import type { Stores } from "./stores.ts";

export interface Portal {
  signIn: SignIn;
  registration: Registration;
  ownAccount: OwnAccount;
  passwordReset: PasswordReset;
  invites: Invites;
  acceptInvite: AcceptInvite;
  signInOptions: SignInOptions;
}

interface Deps {
  config: Config;
  log: Logger;
  stores: Stores;
}

/** The services behind the routes of accounts and invitations. */
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
    signInOptions: { registration, password_reset: box !== null },
  };
}
