/** Why a list cannot be processed: known from its content. */
export const LIST_ERRORS = {
  empty_source: "The list has no rows.",
  no_email_column: "No column of the list holds addresses, or the named column does not exist.",
  email_column_ambiguous:
    "Several columns may hold the addresses: `candidates` lists them; choose one with `email_column`.",
  not_csv: "The file format is not supported: an archive, an old or binary spreadsheet, or the like.",
  not_readable: "The file is damaged, or its encoding or compression is not supported.",
  quote_not_closed: "A quoted field is not closed.",
  suspicious_quote: "A quoted field contains what looks like rows of the list: a quote is missing or stray.",
  record_too_large: "A row is too long.",
  too_many_columns: "A row has too many columns.",
} as const satisfies Record<string, string>;

export type ListErrorCode = keyof typeof LIST_ERRORS;
export const LIST_ERROR_CODES = Object.keys(LIST_ERRORS) as ListErrorCode[];

/**
 * Why bulk jobs fail: `error.code` of a job, and the explanation for the list's sender. The names are public; every failure
 * takes its code from here, so that none is undocumented.
 */
export const JOB_ERRORS = {
  ...LIST_ERRORS,
  bulk_too_large: "The list has more rows or bytes than the team's tier allows.",
  quota_exceeded:
    "The list needs more units than the daily quota has left, or it holds a test address for this error.",
  rate_limited: "Test keys only: the list holds a test address for this error.",
  unavailable_in_tier: "Test keys only: the list holds a test address for this error.",
  source_missing: "The list was removed before it was read completely.",
  source_changed: "The list was replaced before it was read completely.",
  s3_not_granted:
    "The team has no grant for this location in your bucket, or the bucket denies reading the list.",
  source_unavailable: "Your bucket failed for hours, or is not in the service's region.",
  objects_missing: "The job's data is gone from the service's object storage.",
  internal_error: "The service failed. Retry; if it fails again, tell its operator.",
} as const satisfies Record<string, string>;

export type JobErrorCode = keyof typeof JOB_ERRORS;
export const JOB_ERROR_CODES = Object.keys(JOB_ERRORS) as [JobErrorCode, ...JobErrorCode[]];

export function isJobErrorCode(code: string): code is JobErrorCode {
  return Object.hasOwn(JOB_ERRORS, code);
}

export function isListError(code: JobErrorCode): code is ListErrorCode {
  return Object.hasOwn(LIST_ERRORS, code);
}
