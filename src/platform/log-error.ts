/** An error as it is logged. */
export interface LoggedError {
  /** Name of its class. */
  type: string;
  message: string;
  code?: string | number;
  stack?: string;
  cause?: LoggedError;
}

/** Deeper causes are not followed: a chain may be circular. */
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
 * The loggable part of a thrown value: named fields and nothing else. Libraries attach their input to errors: a Redis error
 * carries the command, for AUTH with the password; a Postgres error the row, with its addresses.
 */
export function logError(error: unknown): LoggedError {
  return loggedError(error, CAUSES);
}
