/** How the schema is brought up to date beside processes that serve. */
export const MIGRATION_LIMITS = {
  /**
   * So long a step waits for one lock. Whoever wants the table meanwhile stands in line behind it, so this is how long a
   * lock that is not to be had can hold up a request: all attempts while a credential is looked up (`LIMITS.keys.lookupTimeoutMs`)
   * take less than half of that time.
   */
  lockTimeoutMs: 300,
  /** Before a step is tried again; others have their turn then. Between the two by chance. */
  pauseMinMs: 2_000,
  pauseMaxMs: 5_000,
  /** Of all steps together, from the first that finds a table in use. */
  patienceMs: 300_000,
  /**
   * So long a process waits for another that migrates; with its own patience and its wait for a Postgres that is away
   * (`LIMITS.postgres.startWaitMs`), less than the Job has in `k8s/`.
   */
  turnWaitMs: 600_000,
  /** How often it looks whether it is its turn. */
  turnPollMs: 500,
  /** How often who migrates is heard on the connection that holds its turn. */
  turnBeatMs: 5_000,
  /** The server gives the turn to others when it hears nothing for so long. */
  turnSilenceMs: 60_000,
  /** How often a process looks whether the schema it needs is there. */
  waitPollMs: 500,
  /** How often it says that it waits. */
  waitLogMs: 30_000,
} as const;
