/**
 * The closed union of what can go wrong for a caller, and its HTTP face. A caller's mistake or a limit is an
 * `AppError`; what is expected (a verdict, a reply class) is a value; a programmer's error is an assertion.
 */
export const ERRORS = {
  bad_request: { status: 400, title: "Bad request" },
  validation_failed: { status: 400, title: "Validation failed" },
  malformed_json: { status: 400, title: "Malformed JSON" },
  unauthorized: { status: 401, title: "Not authenticated" },
  unavailable_in_tier: { status: 402, title: "Feature unavailable for the tier" },
  insufficient_role: { status: 403, title: "Insufficient role" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  body_too_large: { status: 413, title: "Request body too large" },
  uri_too_long: { status: 414, title: "URI too long" },
  unsupported_media_type: { status: 415, title: "Unsupported content type" },
  rate_limited: { status: 429, title: "Rate limit exceeded" },
  quota_exceeded: { status: 429, title: "Daily quota exceeded" },
  internal_error: { status: 500, title: "Internal error" },
  overloaded: { status: 503, title: "Overloaded, try again" },
  unavailable: { status: 503, title: "A dependency is unavailable, try again" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorIssue {
  /** Dotted path of the field, e.g. `domains.3` or `email`. */
  path: string;
  message: string;
}

export interface AppErrorOptions {
  errors?: ErrorIssue[];
  /** Seconds for `Retry-After`. */
  retryAfterS?: number;
  headers?: Record<string, string>;
  cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly errors: ErrorIssue[] | undefined;
  readonly retryAfterS: number | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.errors = options.errors;
    this.retryAfterS = options.retryAfterS;
    this.headers = options.headers;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
