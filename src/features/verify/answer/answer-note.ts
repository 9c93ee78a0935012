import type { CheckTimes } from "../../../engine/check-times.ts";
import type { RenderedJson } from "../../../platform/rendered-json.ts";
import type { CountCell } from "../../../platform/telemetry/custom-metrics.ts";
import type { SmtpEvidence } from "../../../verification/evidence.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { VerificationResult } from "./verification-result.ts";

/** Waiting times of an answer, in milliseconds. */
export interface WaitTimes {
  /** Redis was asked; null: it was not. */
  cacheMs: number | null;
  /** From the request of the check until its end, including the messages to its thread and back; null: there was no check. */
  checkMs: number | null;
  /** Times in the check thread, of a check that is traced. */
  thread: CheckTimes | null;
  /** Wait for a check that was in progress for another request: the rest is null then. Absent: it did not join one. */
  waitMs?: number;
}

/** The outcome of a verification, for logs and traces: only data that identifies no person is written. */
export interface AnswerNote {
  /** Its address, latency and times may be those of another request with the same answer. */
  result: VerificationResult;
  /** The server's answer, now or when it was last asked; null: no server was asked. */
  smtp: Pick<SmtpEvidence, "latencyMs" | "rule"> | null;
  /** null: the answer was in memory. */
  times: WaitTimes | null;
}

/** An answer computed from an entry of the evidence cache, with its note. Every request that gets it shares the object. */
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
