/** Why a list cannot be read as one: known from what it holds. */
export const LIST_ERRORS = {
  empty_source: "The list has no rows.",
  no_email_column: "No column of the list has addresses, or the one that was named is not there.",
  email_column_ambiguous:
    "Several columns may be the one of the addresses: `candidates` names them, and `email_column` says which it is.",
  not_csv: "The file is no list that is read: an archive, an old or binary spreadsheet, or the like.",
  not_readable: "The file is damaged, or in an encoding or a compression that is not read.",
  quote_not_closed: "A quoted field has no end.",
  suspicious_quote: "A quoted field holds what look like rows of the list: a quote is missing or stray.",
  record_too_large: "A row is longer than one may be.",
  too_many_columns: "A row has more columns than one may have.",
} as const satisfies Record<string, string>;

export type ListErrorCode = keyof typeof LIST_ERRORS;
export const LIST_ERROR_CODES = Object.keys(LIST_ERRORS) as ListErrorCode[];

/**
 * Why bulk jobs fail: `error.code` of a job, and what each says to whoever sent the list. The names are public; what
 * fails a job takes its code from here, so that none is undocumented.
 */
export const JOB_ERRORS = {
  ...LIST_ERRORS,
  bulk_too_large: "The list has more rows or bytes than the team's tier allows.",
  quota_exceeded:
    "The list needs more units than are left of the day's quota, or a test address of it asks for this.",
  rate_limited: "Of a test key only: an address of the list asks for it.",
  unavailable_in_tier: "Of a test key only: an address of the list asks for it.",
  source_missing: "The list was removed from where it lay before all of it was read.",
  source_changed: "The list was replaced by another one before all of it was read.",
  s3_not_granted:
    "The place in your bucket is not, or no longer, granted to the team, or the bucket does not let the list be read.",
  source_unavailable: "Your bucket failed for hours, or is in another region than the service's.",
  objects_missing: "What the service had kept of the job is gone from its object storage.",
  internal_error: "The service failed. Try again; if it stays so, tell its operator.",
} as const satisfies Record<string, string>;

export type JobErrorCode = keyof typeof JOB_ERRORS;
export const JOB_ERROR_CODES = Object.keys(JOB_ERRORS) as [JobErrorCode, ...JobErrorCode[]];

export function isJobErrorCode(code: string): code is JobErrorCode {
  return Object.hasOwn(JOB_ERRORS, code);
}

export function isListError(code: JobErrorCode): code is ListErrorCode {
  return Object.hasOwn(LIST_ERRORS, code);
}
