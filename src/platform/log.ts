import { type DestinationStream, type Logger, pino } from "pino";
import type { LogLevel } from "../config/settings.ts";
import { logError } from "./log-error.ts";

export type { Logger };

/**
 * One JSON line an event on standard output. No address and no secret is ever logged in clear: callers log ids, sites and
 * codes. The redaction below is a safety net, not the rule.
 *
 * @param to where the lines go; standard output when absent
 */
export function createLog(
  level: LogLevel,
  bindings: Record<string, unknown> = {},
  to?: DestinationStream,
): Logger {
  const options = {
    level,
    base: bindings,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: logError },
    redact: ["authorization", "*.authorization", "email", "*.email", "secret", "*.secret"],
  };
  return to ? pino(options, to) : pino(options);
}
