import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { clientNetwork, clientShare, clientSite } from "../../platform/client-network.ts";
import { AppError } from "../../platform/errors.ts";
import { foldAddress } from "../../verification/address/address-case.ts";
import { hashSecret } from "../identity/api-key.ts";
import type { AttemptCount, AttemptCounters } from "./attempt-counter-sql.ts";
import type { HashRequester } from "./password.ts";

/**
 * Limits of attempts by unauthenticated clients. Sign-ins are counted before the password is checked, so that concurrent
 * ones count too, by three counters of ten minutes: of (account, client address), strict, against guessing; of the client
 * address over all accounts, against spraying; of the account over all addresses, lax, against guessing from many
 * addresses. The last one alone could lock the owner out, so it does not count for an address that has signed in to this
 * account before. Success resets the account's counters, not the address's: an attacker's own account would reset them, and
 * a client's cost in hashes would have no bound.
 *
 * IPv6 clients count by their /64: a single client has that many addresses. As a whole site (/48) has 65 536 of those, each
 * counter of a client has a wider one beside it, for LIMITS.portal.clientsPerSite clients. Keys hold only hashes of e-mail
 * addresses.
 */
export interface PortalLimits {
  /** @throws AppError `rate_limited` */
  signIn(email: string, clientAddress: string): Promise<SignInAttempt>;
  /** @throws AppError `rate_limited` */
  registration(clientAddress: string): Promise<void>;
  /** Whether the mailbox may get one more mail about a registration. Not an error: it must not reveal the account. */
  registrationMail(email: string): Promise<boolean>;
  /** @throws AppError `rate_limited` */
  passwordReset(clientAddress: string): Promise<void>;
  /** @throws AppError `rate_limited` */
  invitation(teamId: string, email: string): Promise<void>;
  /**
   * Whether one more invitation may be mailed to the address: any number of teams, which cost nothing, could fill a mailbox
   * together. Not an error: otherwise other teams could prevent an invitation.
   */
  invitationMail(team: { teamId: string; tier: Tier }, email: string): Promise<boolean>;
  /**
   * Called when a client has proved the account by any means. It resets the account's counters, and lets its owner sign in
   * from that address even while other clients' attempts fail.
   */
  resetAfterProof(email: string, clientAddress: string): Promise<void>;
}

/** Known: this address has signed in to this account before. */
export interface SignInAttempt extends HashRequester {
  /** The same as `resetAfterProof`. */
  succeeded(): Promise<void>;
}

/** One count for the client and, where it has one, one for its site. */
function clientCounts(name: string, address: string, limit: number, windowMs: number): AttemptCount[] {
  const counts = [{ key: `${name}:${clientNetwork(address)}`, limit, windowMs }];
  const site = clientSite(address);
  if (site === null) return counts;
  return [...counts, { key: `${name}:${site}`, limit: limit * LIMITS.portal.clientsPerSite, windowMs }];
}

/** One mailbox for all its spellings: with most providers the text after a plus sign leads to the same person. */
const mailboxOf = (email: string) => email.replace(/\+[^@]*(?=@[^@]*$)/, "");

const hashed = (email: string) => hashSecret(foldAddress(email)).slice(0, 32);

const limits = LIMITS.portal;

function signInCount(key: string, limit: number): AttemptCount {
  return { key, limit, windowMs: limits.signInWindowMs };
}

const ofPair = (account: string, network: string) =>
  signInCount(`pair:${account}:${network}`, limits.signInPerPair);
const ofAccount = (account: string) => signInCount(`account:${account}`, limits.signInPerAccount);
const markOf = (account: string, network: string) => `known:${account}:${network}`;

class CountedPortalLimits implements PortalLimits {
  readonly #counters: AttemptCounters;

  constructor(counters: AttemptCounters) {
    this.#counters = counters;
  }

  async resetAfterProof(email: string, clientAddress: string): Promise<void> {
    const account = hashed(email);
    const network = clientNetwork(clientAddress);
    await this.#counters.settle({
      clear: [ofPair(account, network).key, ofAccount(account).key],
      mark: markOf(account, network),
      markMs: limits.knownAddressMs,
    });
  }

  async signIn(email: string, clientAddress: string): Promise<SignInAttempt> {
    const account = hashed(email);
    const network = clientNetwork(clientAddress);
    const { signInPerAddress, signInWindowMs } = limits;
    const ofClient = clientCounts("address", clientAddress, signInPerAddress, signInWindowMs);
    const isKnown = await this.#counters.isMarked(markOf(account, network));
    const ofAll = isKnown ? [] : [ofAccount(account)];
    await this.#take([ofPair(account, network), ...ofClient, ...ofAll], "sign-ins failed");
    return {
      standing: isKnown ? "known" : "unknown",
      share: clientShare(clientAddress),
      succeeded: () => this.resetAfterProof(email, clientAddress),
    };
  }

  registration(clientAddress: string): Promise<void> {
    const { registrationsPerAddress, registrationWindowMs } = limits;
    const counts = clientCounts("register", clientAddress, registrationsPerAddress, registrationWindowMs);
    return this.#take(counts, "registrations");
  }

  async registrationMail(email: string): Promise<boolean> {
    const { registrationMailsPerMailbox: limit, registrationWindowMs: windowMs } = limits;
    return (
      (await this.#counters.count([{ key: `register-to:${hashed(mailboxOf(email))}`, limit, windowMs }])) ===
      0
    );
  }

  passwordReset(clientAddress: string): Promise<void> {
    const counts = clientCounts("reset", clientAddress, limits.resetsPerAddress, limits.resetWindowMs);
    return this.#take(counts, "requests for a new password");
  }

  invitation(teamId: string, email: string): Promise<void> {
    const windowMs = limits.inviteWindowMs;
    const ofTeam = { key: `invite:${teamId}`, limit: limits.invitesPerWindow, windowMs };
    const key = `invite:${teamId}:${hashed(email)}`;
    return this.#take([ofTeam, { key, limit: limits.invitesPerRecipient, windowMs }], "invitations");
  }

  async invitationMail({ teamId, tier }: { teamId: string; tier: Tier }, email: string): Promise<boolean> {
    const windowMs = limits.inviteMailWindowMs;
    const key = `invite-to:${hashed(mailboxOf(email))}`;
    const counts = [{ key, limit: limits.inviteMailsPerRecipient, windowMs }];
    if (tier === "free")
      counts.push({ key: `invite-mails:${teamId}`, limit: limits.inviteMailsOfFreeTeam, windowMs });
    return (await this.#counters.count(counts)) === 0;
  }

  async #take(counts: readonly AttemptCount[], what: string): Promise<void> {
    const waitMs = await this.#counters.count(counts);
    if (waitMs === 0) return;
    throw new AppError("rate_limited", `Too many ${what}; wait before the next.`, {
      retryAfterS: Math.ceil(waitMs / 1000),
    });
  }
}

export function createPortalLimits(counters: AttemptCounters): PortalLimits {
  return new CountedPortalLimits(counters);
}
