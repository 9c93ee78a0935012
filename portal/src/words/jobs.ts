import type { operations } from "../api/schema.d.ts";

export type BulkJob = operations["getBulkJob"]["responses"][200]["content"]["application/json"];
export type JobStatus = BulkJob["status"];
export type JobErrorCode = NonNullable<BulkJob["error"]>["code"];

/** Descriptions of a job's status. */
export const JOB_STATUSES: Readonly<Record<JobStatus, string>> = {
  queued: "Waiting to begin",
  analyzing: "Reading the file",
  processing: "Verifying",
  deferred: "Waiting for mail servers",
  finalizing: "Writing the results",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

const ENDS: readonly JobStatus[] = ["completed", "failed", "cancelled"];
export const hasEnded = ({ status }: Pick<BulkJob, "status">): boolean => ENDS.includes(status);

/** The name of a list. */
export function listName({ source }: Pick<BulkJob, "source">): string {
  if (source.type === "upload") return source.filename;
  if (source.type === "s3") return source.key;
  return "Pasted addresses";
}

interface ErrorWords {
  says: string;
  advice: string;
  /** The same file can be read with other options. */
  isMendable: boolean;
}

const READ_OTHERWISE = "Try another delimiter, encoding or sheet.";

/** Texts for every error of a job: a new error without texts does not compile. */
export const JOB_ERRORS: Readonly<Record<JobErrorCode, ErrorWords>> = {
  empty_source: {
    says: "The file has no rows.",
    advice: "Of a workbook, choose another sheet; otherwise upload a file with addresses.",
    isMendable: true,
  },
  no_email_column: {
    says: "No column holds mail addresses.",
    advice: READ_OTHERWISE,
    isMendable: true,
  },
  email_column_ambiguous: {
    says: "Several columns may hold the addresses to verify.",
    advice: "Choose the one that you mean.",
    isMendable: true,
  },
  not_csv: {
    says: "The file is no list that can be read.",
    advice: "Save it as CSV or XLSX, and upload that.",
    isMendable: false,
  },
  not_readable: {
    says: "The file, or its beginning, cannot be read.",
    advice: "Say its encoding, or save it as CSV (UTF-8) and upload that.",
    isMendable: true,
  },
  quote_not_closed: {
    says: "A quoted field is not closed.",
    advice: "Mend that row in the file and upload it again, or say how quotes are written.",
    isMendable: true,
  },
  suspicious_quote: {
    says: "A quote is missing or too many: a quoted field holds what looks like rows.",
    advice: "Mend that row in the file and upload it again, or say how quotes are written.",
    isMendable: true,
  },
  record_too_large: {
    says: "A row is too long.",
    advice: READ_OTHERWISE,
    isMendable: true,
  },
  too_many_columns: {
    says: "A row has too many columns.",
    advice: READ_OTHERWISE,
    isMendable: true,
  },
  bulk_too_large: {
    says: "The list is larger than your plan allows.",
    advice: "Split it into several files, or choose a larger plan.",
    isMendable: false,
  },
  quota_exceeded: {
    says: "The list needs more units than today's quota has left.",
    advice: "Verify it when the next day begins, split it, or choose a larger plan.",
    isMendable: true,
  },
  rate_limited: {
    says: "The list holds a test address that asks for this error.",
    advice: "Test keys only.",
    isMendable: false,
  },
  unavailable_in_tier: {
    says: "The list holds a test address that asks for this error.",
    advice: "Test keys only.",
    isMendable: false,
  },
  source_missing: {
    says: "The list was removed before it had been read.",
    advice: "Upload it again.",
    isMendable: false,
  },
  source_changed: {
    says: "The list was replaced before it had been read.",
    advice: "Submit it again once it stays as it is.",
    isMendable: false,
  },
  s3_not_granted: {
    says: "The list in your bucket may not be read.",
    advice: "Ask the operator for a grant of that place, and look at the bucket's policy.",
    isMendable: false,
  },
  source_unavailable: {
    says: "Your bucket did not answer for hours, or is in another region.",
    advice: "Upload the file here instead.",
    isMendable: false,
  },
  objects_missing: {
    says: "What belongs to the job is gone from the object storage of the service.",
    advice: "Upload the list again, and tell the operator.",
    isMendable: false,
  },
  internal_error: {
    says: "A fault of ours.",
    advice: "Try it again; if it fails again, tell the operator.",
    isMendable: true,
  },
};
