/** Portal accounts: passwords, sign-in, invitations. */
export const PORTAL_LIMITS = {
  /** Memory (KiB), passes and lanes of argon2id, as OWASP's password storage cheat sheet has them. */
  argon2: { memoryCost: 19_456, timeCost: 2, parallelism: 1 },
  /** Password hashes computed at once, at most: of Node's four pool threads one is left to files and look-ups. */
  hashesInFlight: 3,
  /** That wait, by who asks for them. */
  hashesWaiting: { known: 50, stranger: 100 },
  passwordCharsMin: 12,
  passwordCharsMax: 200,
  /** Of the account's own names, those that a new password is compared to have so many letters and digits at least. */
  contextWordCharsMin: 3,
  /** A new password is more than so many characters repeated, or so many signs and digits behind a known one. */
  repeatedCharsMax: 4,
  tailCharsMax: 5,
  sessionsPerUser: 100,
  teamsListed: 100,
  /** Failed sign-ins, within `signInWindowMs` of the first: of an account from one client address… */
  signInPerPair: 10,
  /** …of an account from all addresses together, those apart that its owner has used before… */
  signInPerAccount: 100,
  /** …and all sign-ins of one client address, also those that succeed: each costs a hash. */
  signInPerAddress: 300,
  signInWindowMs: 600_000,
  /** What a client may do, all clients of its IPv6 site (/48) together may do so many times. */
  clientsPerSite: 5,
  /** An address that somebody signed in from is his for this long. */
  knownAddressMs: 30 * 86_400_000,
  /** Of one client address. */
  registrationsPerAddress: 20,
  registrationWindowMs: 3_600_000,
  /** Mails about registrations to one mailbox, whoever asks: what is asked for on top is not mailed. */
  registrationMailsPerMailbox: 5,
  /** Within this a registration is confirmed, or it is gone. */
  registrationTtlMs: 86_400_000,
  /** That wait for the relay to mail them. */
  registrationsWaiting: 10_000,
  registrationsPerRun: 1_000,
  resetsPerAddress: 20,
  resetWindowMs: 3_600_000,
  /** Counters that a process keeps while Redis is away; the least used go first. */
  localCounters: 20_000,
  /** After Redis failed, the process counts by itself for this long before it asks again. */
  aloneMs: 1_000,
  /** Links of one account that may be valid at once: what is asked for on top is not mailed. */
  resetsPerUser: 5,
  resetTtlMs: 3_600_000,
  /** Requests for a link that wait for the relay. */
  resetRequests: 10_000,
  resetRequestsPerRun: 1_000,
  resetsEveryMs: 1_000,
  invitesPerTeam: 100,
  inviteTtlMs: 7 * 86_400_000,
  /** Invitations made by one team, and by one team to one address. */
  inviteWindowMs: 3_600_000,
  invitesPerWindow: 100,
  invitesPerRecipient: 5,
  /** Invitations that are mailed: to one recipient by all teams together, and by one team of the tier free. */
  inviteMailWindowMs: 86_400_000,
  inviteMailsPerRecipient: 10,
  inviteMailsOfFreeTeam: 10,
  /** Tries, when others who end the same sessions deadlock with it. */
  transactionAttempts: 5,
  pruneEveryMs: 60_000,
  prunedPerRound: 500,
} as const;

/** Outgoing mail. */
export const MAIL_LIMITS = {
  deliverEveryMs: 1_000,
  /** Under way in one relay. */
  inFlight: 4,
  /** One attempt, from the name look-up to the reply to the message. */
  attemptMs: 15_000,
  /** Beyond `attemptMs` by what it takes to write the outcome down. */
  leaseMs: 30_000,
  retryFirstMs: 10_000,
  retryMaxMs: 3_600_000,
  keptMs: 2 * 86_400_000,
  teamNameChars: 60,
} as const;
