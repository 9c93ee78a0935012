import type { CheckTimes } from "../../../engine/check-times.ts";
import type { RenderedJson } from "../../../platform/rendered-json.ts";
import type { CountCell } from "../../../platform/telemetry/custom-metrics.ts";
import type { SmtpEvidence } from "../../../verification/evidence.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { VerificationResult } from "./verification-result.ts";

/** What an answer waited for, in milliseconds. */
export interface WaitTimes {
  /** Redis was asked; null: it was not. */
  cacheMs: number | null;
  /** From when the check was asked for until it had ended, the way to its thread and back included; null: there was none. */
  checkMs: number | null;
  /** Times in the check thread, of a check that is traced. */
  thread: CheckTimes | null;
  /** It joined a check that was under way for another, and waited so long: the rest is null then. Absent: it did not. */
  waitMs?: number;
}

/** What a verification came to, for logs and traces: only what identifies no person is written of it. */
export interface AnswerNote {
  /** Its address, latency and times may be those of another request that was answered alike. */
  result: VerificationResult;
  /** What the server said, now or when it was asked last; null: no server was asked. */
  smtp: Pick<SmtpEvidence, "latencyMs" | "rule"> | null;
  /** null: the answer was at hand. */
  times: WaitTimes | null;
}

/**
 * An answer that was drawn from an entry of the evidence cache, and the note of how it came about, the same for every
 * request that gets it.
 */
export class CachedAnswer implements AnswerNote {
  readonly entry: CacheEntry;
  readonly result: VerificationResult;
  /** As it is sent. */
  readonly json: RenderedJson;
  /** Counts answers of its verdict and reason. */
  readonly tally: CountCell;
  readonly times = null;

  constructor(entry: CacheEntry, result: VerificationResult, json: RenderedJson, tally: CountCell) {
    this.entry = entry;
    this.result = result;
    this.json = json;
    this.tally = tally;
  }

  get smtp(): AnswerNote["smtp"] {
    return this.entry.evidence.smtp;
  }
}
