/** Leases of the daily quota. */
export const QUOTA_LIMITS = {
  /** A lease that its process has not renewed for this long, or up to renewEveryMs less, is settled by whoever finds it. */
  leaseTtlMs: 10_000,
  /** A lease gives units out for this long, then the rest goes back: what is left is shared anew. */
  leaseUseMs: 5_000,
  /** A lease nobody took a unit of for this long goes back. */
  idleReturnMs: 1_500,
  flushEveryMs: 200,
  /** Flushed leases are renewed at least this often. */
  renewEveryMs: 2_000,
  leaseFirst: 4,
  /** The next lease is twice as large when the last was gone sooner than this, half as large when it lasted longer. */
  leaseGoneMs: 500,
  /** At most idleReturnMs: a lease that goes back idle has lasted, else those of a team that has calmed never shrink. */
  leaseLastedMs: 1_500,
  leaseMax: 5_000,
  /**
   * Leases of busy teams are asked for ahead of need at these moments, so many at a time, and so many of them in one statement,
   * which locks their days: 64 teams at full speed asked 70 times a second, each a transaction.
   */
  aheadEveryMs: 100,
  aheadAtOnce: 500,
  aheadPerStatement: 100,
  /** A team for which that failed, or which was passed over, asks by itself for so long. */
  aloneMs: 5_000,
  /** So many of them what is left has to last. */
  steadyBeats: 4,
  /** Spends that a lease may not yet have told the ledger of: what a killed process costs at most. */
  trancheMax: 1_000,
  /** A lease ahead of need is at most this share of what is left of the day, hence 1 near the limit. */
  leaseShare: 64,
  /** How long a refusal by the ledger is believed without asking again. */
  refusalMs: 500,
  /** For so long after it no check is begun for the team before its unit is there. */
  refusedLatelyMs: 60_000,
  /** Below leaseUseMs, which runs from when a lease was asked for. A machine without a free core takes seconds to answer. */
  ledgerTimeoutMs: 4_000,
  /** After the ledger failed a team, its requests are refused for this long without asking again. */
  failureMs: 250,
  releasesAtOnce: 100,
  waitersPerTeam: 1_000,
  /** A request that waits for a unit is turned away after this long: several rounds to the ledger, if it is slow. */
  waitMs: 6_000,
  teams: 20_000,
  leasesReapedPerRound: 500,
} as const;

/** Counts of what was answered. */
export const USAGE_LIMITS = {
  /** What a killed process loses of the reports (never of the quota) is at most this much of answers. */
  flushEveryMs: 1_000,
  rowsPerFlush: 2_000,
  /** Teams, a day each, whose counts wait to be written: while Postgres is away, no more are counted. */
  teamDays: 40_000,
  readTimeoutMs: 3_000,
  /** Who asks for figures waits so long for what this process has not written yet. */
  flushWaitMs: 500,
  /** Before it goes, a process tries so often to write its counts. */
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
  /** A change may be committed this long after its time was noted: several times what a statement may take. */
  changeLagMs: 30_000,
} as const;

/** Token buckets of teams. */
export const RATE_LIMITS = {
  /**
   * Questions about tokens that nobody waits for yet go to Redis together: those of this time, so many at most. Far less
   * than half of a lease lasts, which is left when more is asked for.
   */
  gatherMs: 8,
  bucketsPerCall: 200,
  /**
   * Busy teams' tokens, of which what is left will last for so many of these beats, are asked for at beats: a call costs 100 us of
   * this process, and with a lease of 250 ms 64 teams at full speed asked for a thousand buckets a second.
   */
  aheadEveryMs: 50,
  steadyBeats: 4,
  leaseMax: 500,
  leaseTtlMs: 1_000,
  /** A lease is at most what the sustained rate makes in this time. */
  leaseSpanMs: 100,
  /** And at most this share of the burst, which it takes room of: eight processes hold half of it, all told. */
  leaseShare: 16,
  /** The next lease is twice as large when half of the last was gone sooner than this, half as large when that lasted longer. */
  leaseGoneMs: 200,
  leaseLastedMs: 600,
  /** What was heard of a bucket is taken for its present state so long, once nothing was left in it. */
  newsMs: 250,
  refusalMaxMs: 1_000,
  waitersPerBucket: 1_000,
  /** Of 20,000 teams those of all three classes, half a kilobyte each. */
  buckets: 60_000,
  /** After Redis failed, the process keeps the rate alone for this long before it asks again. */
  aloneMs: 500,
  /** A question that Redis has not answered by then is given up: above its command's timeout and the wait for a beat. */
  answerMs: 2_000,
  /** A fault in asking is logged so often. */
  faultLogMs: 1_000,
} as const;

/** What a client may have refused: unknown and mistyped credentials, bodies that are not taken. Of a process. */
export const CLIENT_LIMITS = {
  /** Units that a client has at once, and gets back in a second. */
  burst: 100,
  unitsPerS: 10,
  /** How far it can fall into debt by what was under way when its units were used up: it then waits for that as well. */
  debt: 100,
  /** What a client may do, all clients of its IPv6 site (/48) together may do so many times. */
  clientsPerSite: 5,
  /** Clients and sites remembered: some 100 bytes each. Those charged longest ago are forgotten first. */
  remembered: 50_000,
} as const;

/**
 * Requests of a client, by its address, to what needs no credential: signing in, the description, its page. Health checks
 * without a body are free.
 */
export const PUBLIC_RATE_LIMITS = {
  burst: 500,
  unitsPerS: 50,
  debt: 0,
  clientsPerSite: 5,
  remembered: 50_000,
} as const;
