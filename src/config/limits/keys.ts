/** Credentials as processes cache them. */
export const KEY_LIMITS = {
  cacheEntries: 100_000,
  /** Headers whose key need not be hashed again, and their lifetime. */
  headers: 16_384,
  headerMs: 1_000,
  confirmMs: 1_000,
  pollMs: 400,
  /** Unknown credentials, and how long they are remembered: 1 MB. */
  negativeEntries: 10_000,
  negativeMs: 5_000,
  /** How long the Redis bus alone may vouch for cached keys while Postgres does not answer. */
  busOnlyMs: 60_000,
  lookupsInFlight: 1_000,
  /** The part of them from one IPv4 address or IPv6 site, except for credentials that were valid at their last look-up. */
  lookupsPerSite: 200,
  /**
   * Run time of this process (`platform/time/stall-tolerant-timer`), as long as a statement may take. With both cores busy
   * the two round trips of a look-up took 3.4 s, and a late answer serves its caller better than a 503. A request that
   * comes confirmMs after the look-up's start does not join it.
   */
  lookupTimeoutMs: 5_000,
  /** Changes read in one poll; when there are more, the whole cache is dropped instead. */
  changesPerPoll: 1_000,
  changesKeptMs: 3_600_000,
  lastUsedEveryMs: 60_000,
  lastUsedBatch: 5_000,
  blocklistEntriesPerTeam: 10_000,
  /** Domains of a team's list that are read at once: a page blocks the event loop for some 1.3 ms. */
  domainsPerPage: 2_500,
  /** A change of more domains names none: the team's lists are read again. Also written in migration 18. */
  domainsPerNote: 100,
  /** Domains of teams' lists that a process caches, some 100 bytes each: those of the teams looked up longest ago go first. */
  domainsHeld: 1_000_000,
  sessionTtlMs: 30 * 86_400_000,
} as const;
