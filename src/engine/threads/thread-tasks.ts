import type { DomainSignalsConfig, SmtpConfig } from "../../config/config.ts";
import type { LogLevel } from "../../config/settings.ts";
import type { OperatorShaping } from "../../egress/shaping.ts";
import type { CheckOutcome, Deferred, PackedOutcomes } from "../../verification/evidence/outcomes.ts";
import type { CheckMode, Scope } from "../../verification/evidence.ts";
import type { SharedLists } from "../../verification/lists/lists.ts";
import type { CheckTimes } from "../check-times.ts";

export { type CheckOutcome, type Deferred, isDeferred } from "../../verification/evidence/outcomes.ts";

/** Start data of a check thread (`workerData`): plain data and shared memory. */
export interface ThreadSetup {
  smtp: SmtpConfig;
  shaping: OperatorShaping;
  dnsServers: string[];
  signals: DomainSignalsConfig;
  lists: SharedLists;
  board: SharedArrayBuffer;
  logLevel: LogLevel;
  /** The thread reports what passes between it and mail servers. */
  isSmtpTraced: boolean;
}

export type BatchMode = Exclude<CheckMode, "single">;

/** Addresses of one scope for a check thread. A request's check is a batch of one. */
export interface CheckBatch {
  /** Index of its cells on the board. It identifies the batch: no other one in progress has the same slot. */
  slot: number;
  mode: CheckMode;
  scope: Scope;
  /** One a line: one string crosses to a thread faster than many. */
  addresses: string;
  /** The most addresses that are checked at once, in order; the next one starts when one is answered. */
  atOnce: number;
  /** The thread reports the times of its checks. */
  isTraced: boolean;
  /** `processMonotonicMs` when it was asked for. */
  askedMs: number;
}

/** Batches that a thread has answered completely. */
export interface CheckAnswers {
  slots: number[];
  /** The outcomes of the first batch in the order of its addresses, then those of the second, and so on. */
  outcomes: PackedOutcomes;
  /** `processMonotonicMs` when they were posted. */
  postedMs: number;
  /** Absent: none of them is traced. */
  times?: CheckTimes[];
}

/** The outcome of an address that a halted batch has no answer to. @param site "": not known */
export function unansweredOutcome(site: string, isCancelled: boolean): CheckOutcome {
  return isCancelled ? null : deferredOutcome(site, "unfinished");
}

export function deferredOutcome(site: string, cause: Deferred["cause"]): CheckOutcome {
  return { deferred: { site, cause } };
}
