import { LIST_ERRORS, type ListErrorCode } from "./job-errors.ts";

/** Errors that fail a job, reported before the job exists. */
const LIST_REFUSALS = Object.fromEntries(
  Object.entries(LIST_ERRORS).map(([code, title]) => [
    code,
    { status: 422, title: title.replace(/\.$/, "") },
  ]),
) as Record<ListErrorCode, { status: 422; title: string }>;

/**
 * The closed union of errors that a caller can get, and their HTTP form. A caller's mistake or a limit is an `AppError`; an
 * expected result (a verdict, a reply class) is a value; a programming error is an assertion.
 */
export const ERRORS = {
  bad_request: { status: 400, title: "Bad request" },
  validation_failed: { status: 400, title: "Validation failed" },
  malformed_json: { status: 400, title: "Malformed JSON" },
  unauthorized: { status: 401, title: "Not authenticated" },
  invalid_credentials: { status: 401, title: "Wrong address or password" },
  key_without_user: { status: 401, title: "The key used has no associated user" },
  invalid_signature: { status: 401, title: "Invalid signature" },
  unavailable_in_tier: { status: 402, title: "Feature unavailable for the tier" },
  insufficient_role: { status: 403, title: "Insufficient role" },
  s3_not_granted: { status: 403, title: "The team has no grant for this location" },
  live_credential_needed: { status: 403, title: "A test key cannot do this" },
  session_required: { status: 403, title: "A portal session is required" },
  registration_closed: { status: 403, title: "Registration is closed" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  request_timeout: { status: 408, title: "The request body arrived too slowly" },
  already_blocked: { status: 409, title: "Domain already on the blocklist" },
  already_enterprise: { status: 409, title: "The team's tier is above those for sale" },
  already_member: { status: 409, title: "Already a member of the team" },
  account_exists: { status: 409, title: "An account with this address exists" },
  last_owner: { status: 409, title: "A team needs an owner" },
  limit_reached: { status: 409, title: "The team has reached its limit" },
  webhook_disabled: { status: 409, title: "The webhook is disabled" },
  job_finished: { status: 409, title: "The job has ended" },
  upload_missing: { status: 409, title: "Nothing has been uploaded yet" },
  upload_in_use: { status: 409, title: "A job uses the upload" },
  no_results: { status: 409, title: "The job has no results, or none yet" },
  source_missing: { status: 409, title: "The source object does not exist" },
  idempotency_in_flight: {
    status: 409,
    title: "The first request with this Idempotency-Key is still running",
  },
  event_expired: { status: 410, title: "The event is too old" },
  token_unusable: { status: 410, title: "The token was used, revoked or has expired" },
  inline_too_large: { status: 413, title: "Too many inline addresses" },
  bulk_too_large: { status: 413, title: "Bulk request too large for the tier" },
  range_not_satisfiable: { status: 416, title: "Range not satisfiable" },
  body_too_large: { status: 413, title: "Request body too large" },
  uri_too_long: { status: 414, title: "URI too long" },
  unsupported_media_type: { status: 415, title: "Unsupported content type" },
  idempotency_mismatch: { status: 422, title: "The Idempotency-Key was used for another request" },
  ...LIST_REFUSALS,
  rate_limited: { status: 429, title: "Rate limit exceeded" },
  quota_exceeded: { status: 429, title: "Daily quota exceeded" },
  internal_error: { status: 500, title: "Internal error" },
  billing_provider_error: { status: 502, title: "Billing provider error" },
  billing_unconfigured: { status: 503, title: "Billing provider not configured" },
  feature_unconfigured: { status: 503, title: "Not configured in this deployment" },
  overloaded: { status: 503, title: "Overloaded, retry" },
  unavailable: { status: 503, title: "A dependency is unavailable, retry" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorIssue {
  /** Dotted path of the field, e.g. `domains.3` or `email`. */
  path: string;
  message: string;
}

/** A column that may hold the addresses: features/bulk/analysis/layout explains its members. */
export interface ErrorCandidate {
  index: number;
  name: string | null;
  addresses: number;
  distinct: number;
}

export interface AppErrorOptions {
  errors?: ErrorIssue[];
  /** Columns to choose from, for `email_column_ambiguous`. */
  candidates?: ErrorCandidate[];
  /** Seconds for `Retry-After`. */
  retryAfterS?: number;
  headers?: Record<string, string>;
  cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly errors: ErrorIssue[] | undefined;
  readonly candidates: ErrorCandidate[] | undefined;
  readonly retryAfterS: number | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.errors = options.errors;
    this.candidates = options.candidates;
    this.retryAfterS = options.retryAfterS;
    this.headers = options.headers;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
