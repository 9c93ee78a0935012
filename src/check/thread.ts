import type { SmtpConfig } from "../core/config.ts";
import type { LogLevel } from "../core/log.ts";
import type { Scope } from "./evidence.ts";
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

/** One line an address, in order: its evidence as JSON, or `null` when the task was cancelled. */
export type CheckTaskResult = string;
