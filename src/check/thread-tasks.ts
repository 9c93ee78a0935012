import type { DomainSignalsConfig, SmtpConfig } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import type { LogLevel } from "../core/settings.ts";
import type { CheckTimes } from "./check-times.ts";
import type { PackedOutcomes } from "./evidence/outcomes.ts";
import type { CheckMode, Scope } from "./evidence.ts";
import type { SharedLists } from "./lists/lists.ts";
import type { OperatorShaping } from "./shaping.ts";

export { type CheckOutcome, type Deferred, isDeferred, type SingleCheckOutcome } from "./check-outcome.ts";

/** What a check thread is born with (`workerData`): plain data and shared memory. */
export interface ThreadSetup {
  smtp: SmtpConfig;
  shaping: OperatorShaping;
  dnsServers: string[];
  signals: DomainSignalsConfig;
  lists: SharedLists;
  board: SharedArrayBuffer;
  logLevel: LogLevel;
}

export type BatchMode = Exclude<CheckMode, "single">;

/** Asked of each thread at the start, to know that it is there. */
export interface HelloTask {
  mode: "hello";
}

/** Addresses one a line, all of one scope, flat so that crossing the thread boundary stays cheap. */
export interface BatchTask {
  mode: BatchMode;
  addresses: string;
  scope: Scope;
  /** So many of them are asked about at once, in order; the next when one is answered. */
  atOnce: number;
  /** Index of this task's cells on the board. */
  slot: number;
}

/** Checks of requests that came together. Each is answered as soon as it is known, whatever the others wait for. */
export interface SingleChecksTask {
  mode: "single";
  /** One a line, each behind the letter of its scope. */
  addresses: string;
  /** By which the answer of each is known: no other check of the pool has it. It tells its cells on the board, see `slotOf`. */
  tickets: number[];
  /** `processMonotonicMs` when it was posted. */
  postedMs: number;
}

/** @param nth of the pool's checks */
export function ticketOf(nth: number, slot: number): number {
  return nth * LIMITS.check.tasksInFlight + slot;
}

/** Index of a check's cells on the board. */
export function slotOf(ticket: number): number {
  return ticket % LIMITS.check.tasksInFlight;
}

/** Where rows of a domain stand in line, see `CheckEngine.queueSiteOf`. */
export interface QueueSiteTask {
  mode: "line";
  domain: string;
}

export type CheckTask = HelloTask | BatchTask | SingleChecksTask | QueueSiteTask;

export const SCOPE_LETTERS: Record<Scope, string> = { probed: "p", unprobed: "u" };
/** Of a check whose thread is to tell how it went. */
export const TRACED_LETTERS: Record<Scope, string> = { probed: "P", unprobed: "U" };

/** Answers to checks of requests, of any tasks. */
export interface CheckAnswers {
  /** Whose, line by line. */
  tickets: number[];
  outcomes: PackedOutcomes;
  /** `processMonotonicMs` when they were posted. */
  postedMs: number;
  /** What the broken ones threw, in order. */
  errors: Error[];
  /** How those went that are traced; absent where none is. */
  times?: CheckTimes[];
}

/** What a thread posts on its parent port when answers are known and no task ends that could take them along. */
export interface CheckAnswersMessage {
  type: "rcpt.answers";
  answers: CheckAnswers;
}

/**
 * How a task ends. A batch: with a line for each address, in order. Singles: when all of them are answered, with answers that
 * no message has brought yet, also those of other tasks. A question for a line: with the site, or null.
 */
export type CheckTaskResult = PackedOutcomes | CheckAnswers | string | null;
