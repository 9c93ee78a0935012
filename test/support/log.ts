import { closeSync, openSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import type { LogLevel } from "../../src/config/settings.ts";
import { createLog, type Logger } from "../../src/platform/log.ts";

/**
 * What services log in tests. `npm test` names a folder, takes everything at the finest level, and looks through it for
 * secrets once all tests have run; a file run by itself logs nothing.
 */
const FOLDER = process.env.RCPT_TEST_LOGS;

/** Of one process; a test that logs more is not looked at beyond this. */
const BYTES_MAX = 16_777_216;

/** For processes of their own: `LOG_LEVEL`. */
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
