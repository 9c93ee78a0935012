import type { SmtpConfig } from "../core/config.ts";
import type { LogLevel } from "../core/log.ts";
import type { Evidence, Scope } from "./evidence.ts";
import type { SharedLists } from "./lists/lists.ts";

/** What a check thread is born with (`workerData`): plain data and shared memory. */
export interface ThreadSetup {
  smtp: SmtpConfig;
  dnsServers: string[];
  lists: SharedLists;
  board: SharedArrayBuffer;
  logLevel: LogLevel;
}

/** One task: addresses one a line, all of one scope, flat so that crossing the thread boundary stays cheap. */
export interface CheckTask {
  addresses: string;
  scope: Scope;
  /** Index of this task's flag on the board. */
  slot: number;
}

/**
 * One line an address, in order, as JSON: its evidence; `null` when the task was cancelled; `"overloaded"` when a bound
 * of the thread left no room for it.
 */
export type CheckTaskResult = string;
export type CheckLine = Evidence | null | "overloaded";
