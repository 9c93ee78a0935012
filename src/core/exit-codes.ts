import { ConfigError } from "./config.ts";

/**
 * How a process of ours ends when nothing killed it. Node.js keeps 1 (an error that nobody caught) and 3 to 13 for itself,
 * signals end with 128 and more.
 */
export const EXIT = {
  done: 0,
  failed: 1,
  /** A wrong setting or wrong arguments: the last line of standard error names them. */
  misconfigured: 2,
  /** Sysexits' EX_TEMPFAIL: what it needs was away for too long. To start it again is right. */
  unavailable: 75,
} as const;

/** What a process cannot start without was away for longer than it waits. */
export class Unavailable extends Error {
  override name = "Unavailable";
}

/** Of a process that could not begin, or go on, for `error`. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return EXIT.misconfigured;
  return error instanceof Unavailable ? EXIT.unavailable : EXIT.failed;
}
