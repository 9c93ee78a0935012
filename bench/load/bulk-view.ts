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
  /** 429, 503 and broken connections meanwhile; all of them were retried. */
  triedAgain: number;
  /** Failure or inconsistency; null: none. */
  fault: string | null;
}
