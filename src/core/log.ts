import { type Logger, pino } from "pino";

export type { Logger };
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * One JSON line an event on standard output. No address and no secret is ever logged in clear: callers log ids,
 * sites and codes; the redaction below is the net under that rule, not the rule.
 */
export function createLog(level: LogLevel, bindings: Record<string, unknown> = {}): Logger {
  return pino({
    level,
    base: bindings,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ["authorization", "*.authorization", "email", "*.email", "secret", "*.secret"],
  });
}
