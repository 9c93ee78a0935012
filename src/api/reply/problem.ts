import {
  AppError,
  ERRORS,
  type ErrorCandidate,
  type ErrorCode,
  type ErrorIssue,
} from "../../platform/errors.ts";
import { HttpReply } from "./reply.ts";

/** The body of every error, `application/problem+json` (RFC 9457). */
export interface Problem {
  /** A stable URI reference per code. */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stable, snake_case: programs branch on it. */
  code: ErrorCode;
  request_id: string;
  errors?: ErrorIssue[];
  /** Only with `email_column_ambiguous`. */
  candidates?: ErrorCandidate[];
}

/**
 * Seconds for `Retry-After` if the error itself names none: every 429 and 503 carries the header, other errors only if they
 * name some.
 */
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

const ASCII = /^[ -~]*$/;

/** A problem as sent, except for the request id, which is between the two texts. */
interface ProblemTemplate {
  start: string;
  end: string;
  isAscii: boolean;
  headers: Record<string, string>;
}

/** By error: in an overload one error refuses thousands of requests. */
const templates = new WeakMap<AppError, ProblemTemplate>();

function createTemplate(error: AppError): ProblemTemplate {
  const { code, message: detail, errors, candidates } = error;
  const { status, title } = ERRORS[code];
  const problem: Omit<Problem, "request_id" | "errors" | "candidates"> = {
    type: problemType(code),
    title,
    status,
    detail,
    code,
  };
  const more = JSON.stringify({ errors, candidates }).slice(1);
  const start = `${JSON.stringify(problem).slice(0, -1)},"request_id":"`;
  const end = more === "}" ? `"${more}` : `",${more}`;
  return { start, end, isAscii: ASCII.test(start + end), headers: problemHeaders(error) };
}

/**
 * The reply to any error. An error that is not an `AppError` is our fault and becomes a bare `internal_error`: its message
 * may contain an address, a query or a secret, so it goes to the log and never to the caller.
 * @param requestId contains only characters that need no escape
 */
export function problemReply(error: unknown, requestId: string): HttpReply {
  const known =
    error instanceof AppError
      ? error
      : new AppError("internal_error", "Something went wrong here. The request id finds it in our logs.");
  const before = templates.get(known);
  const template = before ?? createTemplate(known);
  if (before === undefined) templates.set(known, template);
  const { start, end, isAscii, headers } = template;
  // An error that refused a request before is likely to refuse more.
  const isHeadShared = before !== undefined;
  const code = known.code;
  const contentType = "application/problem+json";
  return new HttpReply(known.status, start + requestId + end, {
    ...{ contentType, headers, code, isAscii, isHeadShared },
  });
}
