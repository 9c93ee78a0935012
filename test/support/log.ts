import { closeSync, openSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import type { LogLevel } from "../../src/config/settings.ts";
import { createLog, type Logger } from "../../src/platform/log.ts";

/**
 * The log of services in tests. `npm test` names a folder, logs everything at the finest level, and searches it for
 * secrets once all tests have run. A file that is run by itself logs nothing.
 */
const FOLDER = process.env.RCPT_TEST_LOGS;

/** Most bytes of one process's log that are written; the search does not see what exceeds them. */
const BYTES_MAX = 67_108_864;

/** `LOG_LEVEL` for processes that a test starts. */
export const testLogLevel: LogLevel = FOLDER === undefined ? "silent" : "trace";

/** A file for the log of a process, open for appending; null when nothing is logged. The caller closes it. */
export function openLogFile(name: string): number | null {
  return FOLDER === undefined ? null : openSync(join(FOLDER, `${name}.jsonl`), "a");
}

function createTestLog(): Logger {
  const file = openLogFile(`${basename(process.argv[1] ?? "test").replace(/\.[jt]s$/, "")}-${process.pid}`);
  if (file === null) return createLog("silent");
  process.once("exit", () => closeSync(file));
  let bytes = 0;
  return createLog(
    testLogLevel,
    {},
    {
      write(line) {
        bytes += line.length;
        if (bytes <= BYTES_MAX) writeSync(file, line);
      },
    },
  );
}

/** The log of everything that this process starts. */
export const testLog = createTestLog();
