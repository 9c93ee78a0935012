/** Credentials, as processes know them. */
export const KEY_LIMITS = {
  cacheEntries: 100_000,
  /** Seats for headers whose key is not hashed again, a power of two, two for each; and for how long. */
  headerSeats: 16_384,
  headerMs: 1_000,
  confirmMs: 1_000,
  pollMs: 400,
  /** Credentials that were looked up in vain, and for how long they are remembered: 1 MB. */
  negativeEntries: 10_000,
  negativeMs: 5_000,
  /** How long the Redis bus alone may vouch for cached keys while Postgres does not answer. */
  busOnlyMs: 60_000,
  lookupsInFlight: 1_000,
  /** Of them, those of one IPv4 address or IPv6 site, apart from credentials that were good when they were last looked up. */
  lookupsPerSite: 200,
  /**
   * In which this process had its turns (`core/stalls`). As long as a statement may take: with both cores busy the two round trips of
   * a look-up took 3.4 s, and a late answer serves its caller better than a 503. Whoever comes confirmMs after it began does not join it.
   */
  lookupTimeoutMs: 5_000,
  /** Changes read in one poll; when there are more, the whole cache is dropped instead. */
  changesPerPoll: 1_000,
  changesKeptMs: 3_600_000,
  lastUsedEveryMs: 60_000,
  lastUsedBatch: 5_000,
  blocklistEntriesPerTeam: 10_000,
  /** Of each of a team's lists, read in one piece: a page holds the event loop for some 1.3 ms. */
  domainsPerPage: 2_500,
  /** A change of more domains names none: the team's lists are read again. Stands in migration 18, too. */
  domainsPerNote: 100,
  /** Domains of teams' lists that a process holds, some 100 bytes each: those of the teams that were looked up longest ago go first. */
  domainsHeld: 1_000_000,
  sessionTtlMs: 30 * 86_400_000,
} as const;
