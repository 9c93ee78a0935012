/** Portal accounts: passwords, sign-in, invitations. */
export const PORTAL_LIMITS = {
  /** Memory (KiB), passes and lanes of argon2id, as recommended by OWASP's password storage cheat sheet. */
  argon2: { memoryCost: 19_456, timeCost: 2, parallelism: 1 },
  /** Maximum concurrent password hashes: of Node's four pool threads one is left to files and look-ups. */
  hashesInFlight: 3,
  /** Waiting and running ones, by requester: in a process, of one network or user, and those kept for such that have none. */
  hashes: { known: { all: 50, perShare: 10, kept: 20 }, unknown: { all: 100, perShare: 20, kept: 40 } },
  passwordCharsMin: 12,
  passwordCharsMax: 200,
  /** Minimum letters and digits of an account's own names that a new password is compared with. */
  contextWordCharsMin: 3,
  /** A new password must be more than this many repeated characters, or this many signs and digits after a known one. */
  repeatedCharsMax: 4,
  tailCharsMax: 5,
  sessionsPerUser: 100,
  teamsListed: 100,
  /** Failed sign-ins, within `signInWindowMs` of the first: of an account from one client address… */
  signInPerPair: 10,
  /** …of an account from all addresses together, except those that its owner has used before… */
  signInPerAccount: 100,
  /** …and all sign-ins of one client address, also successful ones: each costs a hash. */
  signInPerAddress: 300,
  signInWindowMs: 600_000,
  /** All clients of an IPv6 site (/48) together have this many times the limit of one client. */
  clientsPerSite: 5,
  /** An address counts as known for this long after a sign-in from it. */
  knownAddressMs: 30 * 86_400_000,
  /** Registrations from one client address. */
  registrationsPerAddress: 20,
  registrationWindowMs: 3_600_000,
  /** Mails about registrations to one mailbox, from all clients: further ones are not mailed. */
  registrationMailsPerMailbox: 5,
  /** A registration must be confirmed within this time. */
  registrationTtlMs: 86_400_000,
  /** Registrations waiting for the relay to mail them. */
  registrationsWaiting: 10_000,
  registrationsPerRun: 1_000,
  resetsPerAddress: 20,
  resetWindowMs: 3_600_000,
  /** Counters that a process keeps while Redis is away; the least used go first. */
  localCounters: 20_000,
  /** After Redis failed, the process counts alone for this long before it asks again. */
  storeRetryMs: 1_000,
  /** Valid links of one account: further ones are not mailed. */
  resetsPerUser: 5,
  resetTtlMs: 3_600_000,
  /** Reset requests waiting for the relay. */
  resetRequests: 10_000,
  resetRequestsPerRun: 1_000,
  resetsEveryMs: 1_000,
  invitesPerTeam: 100,
  inviteTtlMs: 7 * 86_400_000,
  /** Invitations by one team, and by one team to one address. */
  inviteWindowMs: 3_600_000,
  invitesPerWindow: 100,
  invitesPerRecipient: 5,
  /** Mailed invitations: to one recipient by all teams together, and by one team of the tier free. */
  inviteMailWindowMs: 86_400_000,
  inviteMailsPerRecipient: 10,
  inviteMailsOfFreeTeam: 10,
  /** Attempts, when concurrent transactions that end the same sessions deadlock with it. */
  transactionAttempts: 5,
  pruneEveryMs: 60_000,
  prunedPerRound: 500,
} as const;

/** Outgoing mail. */
export const MAIL_LIMITS = {
  deliverEveryMs: 1_000,
  /** Concurrent mails in one relay. */
  inFlight: 4,
  /** One attempt, from the name look-up to the reply to the message. */
  attemptMs: 15_000,
  /** Longer than `attemptMs` by the time to record the outcome. */
  leaseMs: 30_000,
  retryFirstMs: 10_000,
  retryMaxMs: 3_600_000,
  keptMs: 2 * 86_400_000,
  teamNameChars: 60,
} as const;
