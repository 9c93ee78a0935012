import type { components } from "../schema.d.ts";

/** The body of every error of the API (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/**
 * Codes that are not the API's own. `network_error`: no answer, or not all of it. `timeout`: the time for the call is over.
 * `malformed_answer`: what came is not what the API says. `http_error`: another server (a proxy, object storage) refused.
 * `file_changed`: the file on the disk is not what it was when its upload began.
 */
export type ClientErrorCode =
  | "network_error"
  | "timeout"
  | "malformed_answer"
  | "http_error"
  | "file_changed";

/** Code for programs to switch on. */
export type ErrorCode = Problem["code"] | ClientErrorCode;

interface ErrorParts {
  status?: number;
  problem?: Problem;
  requestId?: string | null;
  retryAfterS?: number | null;
  cause?: unknown;
}

/** Everything that goes wrong with a call, but an abort: that throws the reason of its signal. */
export class RcptError extends Error {
  override readonly name = "RcptError";
  readonly code: ErrorCode;
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** Description of this occurrence of the error, as a sentence. */
  readonly detail: string;
  /** The fault of each invalid field, by its dotted name. */
  readonly errors: Readonly<Record<string, string>>;
  /** Finds the request in the service's log; null: there was no answer. */
  readonly requestId: string | null;
  /** Seconds after which the service asks to try again; null: not stated. */
  readonly retryAfterS: number | null;
  /** The whole problem, with `candidates` of an ambiguous column; null: the answer is not the API's. */
  readonly problem: Problem | null;

  constructor(code: ErrorCode, detail: string, parts: ErrorParts = {}) {
    super(detail, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = code;
    this.detail = detail;
    this.status = parts.status ?? 0;
    this.problem = parts.problem ?? null;
    this.errors = Object.fromEntries(
      parts.problem?.errors?.map(({ path, message }) => [path, message]) ?? [],
    );
    this.requestId = parts.requestId ?? null;
    this.retryAfterS = parts.retryAfterS ?? null;
  }
}

export const networkError = (cause: unknown): RcptError =>
  new RcptError("network_error", "The service cannot be reached, or its answer broke off.", { cause });

export const malformedAnswer = (cause: unknown): RcptError =>
  new RcptError("malformed_answer", "The answer is not what the API describes.", { cause });

/** Seconds or a date (RFC 9110); null: neither. */
export function retryAfterOf(headers: Headers, nowMs: number): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text);
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, Math.ceil((atMs - nowMs) / 1_000));
}

function isProblem(body: unknown): body is Problem {
  if (typeof body !== "object" || body === null) return false;
  const { code, detail } = body as Partial<Problem>;
  return typeof code === "string" && typeof detail === "string";
}

/** The error of a refusal. Reads its body. */
export async function errorOf(response: Response, nowMs = Date.now()): Promise<RcptError> {
  const { status, headers } = response;
  const body: unknown = await response.json().catch(() => null);
  const parts = { status, requestId: headers.get("x-request-id"), retryAfterS: retryAfterOf(headers, nowMs) };
  if (isProblem(body)) return new RcptError(body.code, body.detail, { ...parts, problem: body });
  return new RcptError(
    "http_error",
    `The answer is ${status}, and not the API's. Is the URL that of the service?`,
    parts,
  );
}
