/** Outcome of one bulk job. */
export interface BulkView {
  /** From 1. */
  number: number;
  /** null: it was never taken. */
  id: string | null;
  rows: number;
  /** `submitted` from the start of its upload, seconds from the start of the run. */
  atS: number;
  status: string;
  /** Uploading and submitting. */
  submitMs: number | null;
  /** From the start of the upload until it was seen to be completed. */
  endToEndMs: number | null;
  /** Rows over `endToEndMs`. */
  rowsPerS: number | null;
  /** Reading all results as JSON lines. */
  downloadMs: number | null;
  downloadBytes: number | null;
  verdicts: Record<string, number>;
  /** Answers with 429 or 5xx, and broken connections meanwhile; what may be repeated was. */
  triedAgain: number;
  /** Failure or inconsistency; null: none. */
  fault: string | null;
}
