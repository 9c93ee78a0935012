import type { ErrorCode } from "../../src/platform/errors.ts";
import type { JobErrorCode } from "../../src/platform/job-errors.ts";

/** Description of a code in docs/errors.md: when it occurs, and what the caller can do. */
export const ERROR_DESCRIPTIONS: Readonly<Record<Exclude<ErrorCode, JobErrorCode>, string>> = {
  bad_request: "The request is malformed: its line, a header field, or a body that breaks off. Correct it.",
  validation_failed: "A field or parameter has a wrong value; `errors` names each with its path. Correct it.",
  malformed_json: "The body is no JSON, or nested too deep, or has too many names. Correct it.",
  unauthorized: "The credential is missing, unknown, revoked or expired. Use another one.",
  invalid_credentials: "Wrong address or password.",
  key_without_user:
    "The user of this key has left the team: it verifies and reads, nothing else. Use another key.",
  invalid_signature: "The signature of Stripe's notification does not match. Check `STRIPE_WEBHOOK_SECRET`.",
  insufficient_role: "The credential's role is too low. Ask an admin or owner of the team.",
  live_credential_needed: "A test key may not do this. Use a live key or a session.",
  session_required: "A key may not do this. Sign in.",
  registration_closed: "The operator lets no one register, or only invited people.",
  not_found: "There is no such path or resource, or it belongs to another team or mode.",
  method_not_allowed: "The path does not take this method; `Allow` lists those it takes.",
  request_timeout: "The body came too slowly. Send it again over a faster connection.",
  already_blocked: "The domain is on the blocklist already. Nothing to do.",
  already_enterprise: "The team's tier has more than any plan for sale.",
  already_member: "The person is a member of the team already.",
  account_exists: "The address has an account. Sign in, or reset the password.",
  last_owner: "A team needs an owner. Make another member an owner first.",
  limit_reached: "The team has as many of these as it may have. Remove one, or wait until one ends.",
  webhook_disabled: "The webhook is disabled. Enable it first.",
  job_finished: "The job has ended, so it cannot be cancelled.",
  upload_missing: "The file's bytes have not come yet. Upload them first.",
  upload_in_use: "A job reads the upload. Wait for its end, or cancel it.",
  no_results: "The job has no results, or none yet. Follow it, and try again later.",
  idempotency_in_flight: "The first request with this `Idempotency-Key` is still running. Try again later.",
  event_expired: "The event is older than the log of deliveries. It cannot be sent again.",
  token_unusable: "The token was used, was withdrawn or has expired. Request a new one.",
  inline_too_large: "The request has more addresses than an inline list may have. Upload a file.",
  range_not_satisfiable: "The results have no such bytes. Start the download again.",
  body_too_large: "The body is larger than this operation takes.",
  uri_too_long: "The path and query are longer than 8,192 bytes.",
  unsupported_media_type: "Send `Content-Type: application/json`, or what the reference names.",
  idempotency_mismatch:
    "The `Idempotency-Key` was used with another body or path. Use a new key for a new request.",
  billing_provider_error: "Stripe failed or answered something unexpected. Try again.",
  billing_unconfigured: "The operator has not set up billing.",
  feature_unconfigured: "The operator has not configured what this needs (object storage, `SECRETS_KEY`).",
  overloaded:
    "The process has too much to do; or, to a GET, it holds too many large answers that you have not read yet. Try again after " +
    "`Retry-After`; nothing was charged.",
  unavailable: "A store cannot be reached. Try again after `Retry-After`.",
};

/** The same of why a job failed. Some of these also answer requests, with the status that is shown. */
export const JOB_ERROR_DESCRIPTIONS: Readonly<Record<JobErrorCode, string>> = {
  empty_source: "The list has no rows.",
  no_email_column:
    "No column holds addresses, or the one that was named does not exist. Check `email_column` and `delimiter`.",
  email_column_ambiguous:
    "Several columns may hold the contacts' addresses; `candidates` names them. Say which by `email_column`.",
  not_csv:
    "The file is no list that is read: an archive, an old or binary spreadsheet, or the like. Export it as CSV or `.xlsx`.",
  not_readable: "The file is damaged, or in an unsupported encoding or compression. Export it again.",
  quote_not_closed: "A quoted field has no end; the error names row and byte. Correct the list.",
  suspicious_quote:
    "A quoted field holds what look like rows of the list: a quote is missing or stray. Correct the list, or set `escape`.",
  record_too_large: "A row is longer than 1 MiB. Correct the list.",
  too_many_columns: "A row has more than 2,000 columns. Correct the list, or set `delimiter`.",
  bulk_too_large: "The list has more rows or bytes than the team's tier allows. Split it.",
  quota_exceeded:
    "More units are needed than are left of the day. Try again after `Retry-After`, or with a smaller list.",
  rate_limited: "The rate is used up. Try again after `Retry-After`. Of jobs: a test address asked for this.",
  unavailable_in_tier: "The team's tier does not include this. Of jobs: a test address asked for this.",
  source_missing: "The list was removed from its place before all of it was read.",
  source_changed: "The list was replaced by another one before all of it was read. Submit it again.",
  s3_not_granted:
    "The place in your bucket is not, or no longer, granted to the team, or the bucket does not let the list be read.",
  source_unavailable: "Your bucket failed for hours, or is in another region than the service's.",
  objects_missing:
    "Objects that the service kept of the job are gone from its storage. Submit the list again.",
  internal_error: "The service failed. Try again; if it persists, tell its operator the `request_id`.",
};
