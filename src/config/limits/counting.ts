/** Leases of the daily quota. */
export const QUOTA_LIMITS = {
  /** Any process may settle a lease that its owner has not renewed for this long, or up to renewEveryMs less. */
  leaseTtlMs: 10_000,
  /** A lease gives units out for this long, then the rest goes back to be shared again. */
  leaseUseMs: 5_000,
  /** A lease without use for this long goes back. */
  idleReturnMs: 1_500,
  flushEveryMs: 200,
  /** Flushed leases are renewed at least this often. */
  renewEveryMs: 2_000,
  leaseFirst: 4,
  /** The next lease is twice as large when the last was used up sooner than this, half as large when it lasted longer. */
  leaseGoneMs: 500,
  /** At most idleReturnMs: a lease returned idle has lasted; otherwise leases of a team that became quiet never shrink. */
  leaseLastedMs: 1_500,
  leaseMax: 5_000,
  /** Spends that a lease may hold unreported: the maximum that a killed process costs. */
  trancheMax: 1_000,
  /** A lease ahead of need is at most this share of the rest of the day, hence 1 near the limit. */
  leaseShare: 64,
  /** How long a refusal by the ledger holds without asking again. */
  refusalMs: 500,
  /** For this long after it, no check of the team starts before its unit is granted. */
  refusedLatelyMs: 60_000,
  /** Below leaseUseMs, which runs from a lease's request. A machine without a free core takes seconds to answer. */
  ledgerTimeoutMs: 4_000,
  /** After the ledger failed for a team, its requests are refused for this long without asking again. */
  failureMs: 250,
  /**
   * Statements that give leases back: fewer than connections (DATABASE_MAX_CONNECTIONS). The client sends further ones behind
   * those under way, and one that waits for the lock of its day would hold them up, leases that requests wait for among them.
   */
  releasesAtOnce: 4,
  waitersPerTeam: 1_000,
  /** A request that waits for a unit is refused after this long: several rounds to the ledger, if it is slow. */
  waitMs: 6_000,
  teams: 20_000,
  leasesReapedPerRound: 500,
} as const;

/** Counts of answers. */
export const USAGE_LIMITS = {
  /** A killed process loses at most this much of the reports (never of the quota). */
  flushEveryMs: 1_000,
  rowsPerFlush: 2_000,
  /** Teams, a day each, whose counts wait to be written: while Postgres is away, no more are counted. */
  teamDays: 40_000,
  readTimeoutMs: 3_000,
  /** A request for figures waits this long for counts that this process has not written yet. */
  flushWaitMs: 500,
  /** Attempts to write the counts before a process ends. */
  drainAttempts: 5,
  drainPauseMs: 200,
  keptDays: 400,
  /** After this long a silent process may no longer repeat a flush. */
  writersKeptDays: 7,
  prunedPerRound: 5_000,
  pruneRounds: 20,
  historyDaysDefault: 30,
  historyDaysMax: 365,
  thresholdsEveryMs: 2_000,
  teamDaysPerLook: 1_000,
  /** A change may be committed this long after its recorded time: several times the maximum duration of a statement. */
  changeLagMs: 30_000,
} as const;

/** Token buckets of teams. */
export const RATE_LIMITS = {
  /**
   * Token requests without a waiting caller go to Redis together: those of this time, at most this many. Far less than half
   * of a lease lasts, the rest at which more is requested.
   */
  gatherMs: 8,
  bucketsPerCall: 200,
  leaseMax: 500,
  leaseTtlMs: 1_000,
  /** A lease is at most the tokens of the sustained rate in this time. */
  leaseSpanMs: 100,
  /** A lease is also at most the burst divided by this: eight processes together hold half of a burst. */
  leaseShare: 16,
  /**
   * The next lease is twice as large when half of the last was used up sooner than this, half as large when that lasted
   * longer.
   */
  leaseGoneMs: 200,
  leaseLastedMs: 600,
  /** The last known state of an empty bucket counts as current for this long. */
  newsMs: 250,
  refusalMaxMs: 1_000,
  waitersPerBucket: 1_000,
  /** The buckets of 20,000 teams in all three classes. One takes half a kilobyte. */
  buckets: 60_000,
  /** After Redis failed, the process limits alone for this long before it asks again. */
  storeRetryMs: 500,
  /** A request that Redis has not answered by then is given up: above its command's timeout and the wait for an interval. */
  answerMs: 2_000,
  /** A failure of requests is logged this often. */
  faultLogMs: 1_000,
} as const;

/** Refusals that a client may cause: unknown and mistyped credentials, rejected bodies. Per process. */
export const CLIENT_LIMITS = {
  /** Burst of units, and units regained in a second. */
  burst: 100,
  unitsPerS: 10,
  /** Maximum debt from requests in progress when its units ran out: it then waits for that as well. */
  debt: 100,
  /** All clients of an IPv6 site (/48) together may cause this many times the refusals of one client. */
  clientsPerSite: 5,
  /** Clients and sites remembered: some 100 bytes each. Those charged longest ago are forgotten first. */
  remembered: 50_000,
} as const;

/**
 * Requests of a client, by its address, to routes without credentials: signing in, the description, its page. Health checks
 * without a body are free.
 */
export const PUBLIC_RATE_LIMITS = {
  burst: 500,
  unitsPerS: 50,
  debt: 0,
  clientsPerSite: 5,
  remembered: 50_000,
} as const;
