export interface VerifyInput {
  /** The text as the caller wrote it; 1 to `LIMITS.http.emailBytes` bytes. */
  email: string;
  /** Ask again although the cache knows. */
  refresh: boolean;
  withEvidence: boolean;
  /** false: no mail server is asked, whatever the tier. */
  probe: boolean;
}
