/** An error as it is logged. */
export interface LoggedError {
  /** Name of its class. */
  type: string;
  message: string;
  code?: string | number;
  stack?: string;
  cause?: LoggedError;
}

/** Deeper causes are not followed: a chain may be a ring. */
const CAUSES = 4;

function loggedError(error: unknown, causesLeft: number): LoggedError {
  if (typeof error === "string") return { type: "string", message: error };
  if (!(error instanceof Error)) return { type: typeof error, message: "" };
  const { code } = error as { code?: unknown };
  const hasCause = error.cause !== undefined && causesLeft > 0;
  return {
    type: error.constructor.name,
    message: error.message,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(hasCause ? { cause: loggedError(error.cause, causesLeft - 1) } : {}),
  };
}

/**
 * What is logged of something thrown: named fields and nothing else. Libraries hang onto their errors what they were
 * doing: a Redis error carries the command, of AUTH with the password; a Postgres error the row, with its addresses.
 */
export function logError(error: unknown): LoggedError {
  return loggedError(error, CAUSES);
}
