/** Limits for migrating the schema while processes serve. */
export const MIGRATION_LIMITS = {
  /**
   * Lock timeout of a step. Other requests for the table queue behind the step, so this is how long an unavailable lock can
   * delay a request: all attempts during a credential look-up (`LIMITS.keys.lookupTimeoutMs`) take less than half of that
   * time.
   */
  lockTimeoutMs: 300,
  /** Pause before a step is retried; others get the table then. Random between the two. */
  pauseMinMs: 2_000,
  pauseMaxMs: 5_000,
  /** Time for all steps together, from the first that finds a table in use. */
  patienceMs: 300_000,
  /**
   * Time that a process waits for another that migrates. With its own retries and its wait for Postgres
   * (`LIMITS.postgres.startWaitMs`), less than the timeout of the Job in `k8s/`.
   */
  turnWaitMs: 600_000,
  /** Interval at which it tries to get the lock. */
  turnPollMs: 500,
  /** Interval of keep-alives on the connection that holds the migration lock. */
  turnBeatMs: 5_000,
  /** The server releases the lock after this much silence. */
  turnSilenceMs: 60_000,
  /** Interval at which a process checks for the schema it needs. */
  waitPollMs: 500,
  /** Interval at which it logs that it waits. */
  waitLogMs: 30_000,
} as const;
