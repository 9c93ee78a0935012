import type { DomainSignalsConfig, SmtpConfig } from "../core/config.ts";
import type { LogLevel } from "../core/log.ts";
import type { CheckMode, Evidence, Scope } from "./evidence.ts";
import type { SharedLists } from "./lists/lists.ts";
import type { OwnShaping } from "./shaping.ts";

/** What a check thread is born with (`workerData`): plain data and shared memory. */
export interface ThreadSetup {
  smtp: SmtpConfig;
  shaping: OwnShaping;
  dnsServers: string[];
  signals: DomainSignalsConfig;
  lists: SharedLists;
  board: SharedArrayBuffer;
  logLevel: LogLevel;
}

export type BatchMode = Exclude<CheckMode, "single">;

/** One task: addresses one a line, all of one scope, flat so that crossing the thread boundary stays cheap. */
export interface CheckTask {
  addresses: string;
  scope: Scope;
  /** `single`: one address; the other modes: a batch of them. */
  mode: CheckMode;
  /** Index of this task's cells on the board. */
  slot: number;
}

/** Why an address of a batch has no answer, and the site it waits for: "" while that was not known. */
export interface Deferred {
  site: string;
  /** `busy`: the site's line is long, or no slot of it came free; `unfinished`: the batch was handed in before. */
  cause: "busy" | "unfinished";
}

/**
 * One line an address, in order, as JSON: its evidence; why there is none yet; `null` when the task was cancelled;
 * `"overloaded"` when a bound of the thread left no room for it; `"broken"`, of a batch, when its check threw.
 */
export type CheckTaskResult = string;
export type CheckLine = SingleLine | { deferred: Deferred } | "broken";
export type SingleLine = Evidence | null | "overloaded";

/** A line that needs no site. */
export const PLAIN_LINES = { cancelled: "null", overloaded: '"overloaded"', broken: '"broken"' } as const;

export function isDeferred(line: CheckLine): line is { deferred: Deferred } {
  return line !== null && typeof line === "object" && "deferred" in line;
}
