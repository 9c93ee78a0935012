import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import type { Guard } from "../embedded/guard.ts";
import { freePort } from "../embedded/ports.ts";
import { startService, untilReady } from "../embedded/service.ts";
import { startStack } from "../embedded/stack.ts";
import type { ServiceAnswer } from "./comparison.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 30_000;
const ANSWER_WITHIN_MS = 60_000;
const BOOTSTRAP_TIMEOUT_MS = 60_000;

const Answer = v.object({
  verdict: v.string(),
  reason: v.string(),
  checks: v.object({ smtp: v.object({ code: v.number(), enhanced_code: v.nullable(v.string()) }) }),
  evidence: v.nullish(v.object({ mx_host: v.string() })),
});

export interface ServiceSettings {
  /** Folder of the embedded services' data, thrown away. */
  dir: string;
  /** Folder of what was downloaded for them before. */
  cacheDir: string;
  dnsServer: string;
  smtpPort: number;
  heloName: string;
  mailFrom: string;
}

export interface RunningService {
  /** Verifies one address with the live key of an enterprise team. */
  ask(address: string): Promise<ServiceAnswer>;
}

async function settingsOf(settings: ServiceSettings, guard: Guard): Promise<Record<string, string>> {
  const { dir, cacheDir } = settings;
  const wanted = ["postgres", "redis"] as const;
  const { postgres, redis } = await startStack({
    dir,
    cacheDir,
    wanted,
    throwaway: true,
    guard,
    say: console.log,
  });
  if (postgres === null || redis === null) throw new Error("PostgreSQL and Redis did not start");
  return {
    PATH: process.env.PATH ?? "",
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    HOST: "127.0.0.1",
    PORT: String(await freePort()),
    METRICS_PORT: "0",
    LOG_LEVEL: "warn",
    DNS_SERVERS: settings.dnsServer,
    SMTP_PORT: String(settings.smtpPort),
    SMTP_HELO_NAME: settings.heloName,
    SMTP_MAIL_FROM: settings.mailFrom,
    PROBE_PRIVATE_ADDRESSES: "true",
  };
}

const MAIN = ["--import", "tsx", "src/main.ts"];

/** An enterprise team's live key, from the operator's own command. */
async function liveKey(env: Record<string, string>): Promise<string> {
  const account = ["--email", "owner@rcpt.test", "--team", "Real MTAs", "--tier", "enterprise", "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, [...MAIN, "bootstrap", ...account], {
    cwd: ROOT,
    env,
    timeout: BOOTSTRAP_TIMEOUT_MS,
  });
  const key = /\brcpt_live_[A-Za-z0-9]+/.exec(stdout)?.[0];
  if (key === undefined) throw new Error("bootstrap printed no live key");
  return key;
}

async function isReady(base: string): Promise<boolean> {
  return fetch(`${base}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

/**
 * Starts the service as it is in this folder, on PostgreSQL and Redis of its own, told to resolve and to probe where
 * `settings` say. The guard ends all of it.
 *
 * @throws Error with the last log lines when it does not get ready.
 */
export async function startRcpt(settings: ServiceSettings, guard: Guard): Promise<RunningService> {
  const env = await settingsOf(settings, guard);
  const service = startService({
    command: process.execPath,
    args: MAIN,
    cwd: ROOT,
    env,
    logFile: join(settings.dir, "rcpt.log"),
    stopSignal: "SIGTERM",
    stopGraceMs: STOP_GRACE_MS,
    guard,
  });
  const base = `http://127.0.0.1:${env.PORT}`;
  await untilReady("rcpt", service, READY_WITHIN_MS, () => isReady(base));
  const authorization = `Bearer ${await liveKey(env)}`;
  return {
    async ask(address) {
      const url = `${base}/v1/verify?evidence=true&email=${encodeURIComponent(address)}`;
      const response = await fetch(url, {
        headers: { authorization },
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      if (!response.ok) throw new Error(`${address}: HTTP ${response.status} ${await response.text()}`);
      const { verdict, reason, checks, evidence } = v.parse(Answer, await response.json());
      const { code, enhanced_code: enhancedCode } = checks.smtp;
      return { verdict, reason, code, enhancedCode, mxHost: evidence?.mx_host ?? null };
    },
  };
}
