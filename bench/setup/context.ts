import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidRun } from "../report/figures.ts";
import type { ChildHost } from "./child.ts";

/** Context of every section. */
export interface BenchContext extends ChildHost {
  databaseUrl: string;
  redisUrl: string;
  /** Settings of object storage; empty in a run without it. */
  objectSettings: Record<string, string>;
  /** Fewer and shorter runs: figures that show a trend, and say less. */
  quick: boolean;
  /**
   * Time budget of this bench in milliseconds. It is not enforced, but a bench that grows with time must keep to it.
   */
  allowanceMs: number;
  /** Lengths of lists, ascending, where the command line gives them. */
  rows: readonly number[] | null;
}

/** Settings of the engine and of the API: the sinks are the internet, all else is the default. */
export function settingsFor(
  context: BenchContext,
  mail: { dnsServer: string; smtpPort: number },
): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATABASE_URL: context.databaseUrl,
    REDIS_URL: context.redisUrl,
    DNS_SERVERS: mail.dnsServer,
    SMTP_PORT: String(mail.smtpPort),
    SMTP_HELO_NAME: "bench.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
  };
}

/** The same settings plus those that a bulk worker needs; `own` overrides them. */
export function bulkSettingsFor(
  context: BenchContext,
  mail: { dnsServer: string; smtpPort: number },
  own: Record<string, string> = {},
): Record<string, string> {
  const scratch = mkdtempSync(join(tmpdir(), "rcpt-bench-scratch-"));
  context.guard.removeAtEnd(scratch);
  return {
    ...settingsFor(context, mail),
    ...context.objectSettings,
    SCRATCH_DIR: scratch,
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    LOG_LEVEL: "warn",
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
    ...own,
  };
}

/** Runs `work`, and then ends all started children, last first, whatever its outcome. */
export async function withChildren<T>(
  work: (keep: <C extends { end(): Promise<void> }>(child: C) => C) => Promise<T>,
): Promise<T> {
  const started: { end(): Promise<void> }[] = [];
  try {
    return await work((child) => {
      started.push(child);
      return child;
    });
  } finally {
    for (const child of started.reverse()) await child.end();
  }
}

/** @param wrong how often each unexpected verdict came @throws InvalidRun when there is any */
export function requireRight(subject: string, wrong: Record<string, number> | number): void {
  const counts = typeof wrong === "number" ? { "wrong answers": wrong } : wrong;
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  if (found.length === 0) return;
  throw new InvalidRun(`${subject}: ${found.map(([what, count]) => `${count} × ${what}`).join(", ")}`);
}
