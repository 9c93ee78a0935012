import { AppError, ERRORS, type ErrorCode, type ErrorIssue } from "../core/errors.ts";
import { Reply } from "./reply.ts";

/** The body of every error, `application/problem+json` (RFC 9457). */
export interface Problem {
  /** A stable URI reference per code. */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stable, snake_case: what a program switches on. */
  code: ErrorCode;
  request_id: string;
  errors?: ErrorIssue[];
}

/** Seconds for `Retry-After` where the error itself names none: every 429 and 503 carries the header, any other that names some. */
const RETRY_AFTER_DEFAULT_S = 1;
const RETRIABLE: ReadonlySet<number> = new Set([429, 503]);

export function problemType(code: ErrorCode): string {
  return `/problems/${code.replaceAll("_", "-")}`;
}

function problemHeaders(error: AppError): Record<string, string> {
  const headers: Record<string, string> = { ...error.headers };
  if (error.status === 401) headers["WWW-Authenticate"] = 'Bearer realm="rcpt"';
  if (RETRIABLE.has(error.status) || error.retryAfterS !== undefined)
    headers["Retry-After"] = String(Math.max(1, Math.ceil(error.retryAfterS ?? RETRY_AFTER_DEFAULT_S)));
  return headers;
}

/**
 * The reply to anything thrown. What is not an `AppError` is our fault and becomes a bare `internal_error`: its
 * message may hold an address, a query or a secret, so it goes to the log and never to the caller.
 */
export function problemReply(error: unknown, requestId: string): Reply {
  const known =
    error instanceof AppError
      ? error
      : new AppError("internal_error", "Something went wrong here. The request id finds it in our logs.");
  const { status, title } = ERRORS[known.code];
  const problem: Problem = {
    type: problemType(known.code),
    title,
    status,
    detail: known.message,
    code: known.code,
    request_id: requestId,
    ...(known.errors === undefined ? {} : { errors: known.errors }),
  };
  return new Reply(status, JSON.stringify(problem), {
    contentType: "application/problem+json",
    headers: problemHeaders(known),
    code: known.code,
  });
}
