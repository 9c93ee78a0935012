/** How the schema is brought up to date beside processes that serve. */
export const MIGRATION_LIMITS = {
  /**
   * So long a step waits for a lock. Whoever wants the table meanwhile stands in line behind it, so this is how long a
   * migration can hold up a request.
   */
  lockTimeoutMs: 2_000,
  /** Before it is tried again; others have their turn then. */
  retryMs: 1_000,
  /** Of one step: two minutes. */
  attempts: 40,
  /** How often a process looks whether the schema it needs is there. */
  waitPollMs: 500,
  /** How often it says that it waits. */
  waitLogMs: 30_000,
} as const;
