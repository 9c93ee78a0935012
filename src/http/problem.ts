import { AppError, ERRORS, type ErrorCandidate, type ErrorCode, type ErrorIssue } from "../core/errors.ts";
import { HttpReply } from "./reply.ts";

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
  /** Of `email_column_ambiguous`. */
  candidates?: ErrorCandidate[];
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

/** A problem as it is sent, but for the id of the request, which stands in quotes between the two. */
export interface ProblemTemplate {
  start: string;
  end: string;
  headers: Record<string, string>;
}

/** By what is thrown: in an overload one error refuses thousands of requests. */
const forms = new WeakMap<AppError, ProblemTemplate>();

export function problemTemplateOf(error: AppError): ProblemTemplate {
  const known = forms.get(error);
  if (known !== undefined) return known;
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
  const form = {
    start: `${JSON.stringify(problem).slice(0, -1)},"request_id":`,
    end: more === "}" ? more : `,${more}`,
    headers: problemHeaders(error),
  };
  forms.set(error, form);
  return form;
}

/**
 * The reply to anything thrown. What is not an `AppError` is our fault and becomes a bare `internal_error`: its
 * message may hold an address, a query or a secret, so it goes to the log and never to the caller.
 */
export function problemReply(error: unknown, requestId: string): HttpReply {
  const known =
    error instanceof AppError
      ? error
      : new AppError("internal_error", "Something went wrong here. The request id finds it in our logs.");
  const { start, end, headers } = problemTemplateOf(known);
  return new HttpReply(known.status, start + JSON.stringify(requestId) + end, {
    contentType: "application/problem+json",
    headers,
    code: known.code,
  });
}
