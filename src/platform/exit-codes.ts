import { ConfigError } from "../config/config.ts";

/**
 * Exit codes of our processes when no signal ended them. Node.js reserves 1 (uncaught error) and 3 to 13; signals end with
 * 128 and more.
 */
export const EXIT = {
  done: 0,
  failed: 1,
  /** A wrong setting or wrong arguments: the last line of standard error names them. */
  misconfigured: 2,
  /** Sysexits' EX_TEMPFAIL: a dependency was away for too long. Restarting is right. */
  unavailable: 75,
} as const;

/** A dependency required at start was away for longer than the process waits. */
export class Unavailable extends Error {
  override name = "Unavailable";
}

/** The exit code of a process that could not start, or go on, because of `error`. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return EXIT.misconfigured;
  return error instanceof Unavailable ? EXIT.unavailable : EXIT.failed;
}
