import { resolve } from "node:path";
import * as v from "valibot";
import type { Guard } from "../embedded/guard.ts";
import { startStack } from "../embedded/stack.ts";
import { startEntry } from "../start/entry.ts";
import { demoKeys } from "../start/keys.ts";
import { stackSettings } from "../start/settings.ts";
import type { ServiceAnswer } from "./comparison.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const ENTRY = ["--import", "tsx", "src/main.ts"];
const ANSWER_WITHIN_MS = 60_000;

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

/** Nothing of the caller's settings: what is compared is the service on these servers, the same everywhere. */
function probeSettings({ dnsServer, smtpPort, heloName, mailFrom }: ServiceSettings): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOST: "127.0.0.1",
    LOG_LEVEL: "warn",
    DNS_SERVERS: dnsServer,
    SMTP_PORT: String(smtpPort),
    SMTP_HELO_NAME: heloName,
    SMTP_MAIL_FROM: mailFrom,
    PROBE_PRIVATE_ADDRESSES: "true",
  };
}

/**
 * Starts the service as it is in this folder, on PostgreSQL and Redis of its own, told to resolve and to probe where
 * `settings` say. The guard ends all of it.
 *
 * @throws Error on `stop`, or when a part does not start; what the service had to say is on the terminal.
 */
export async function startRcpt(
  settings: ServiceSettings,
  guard: Guard,
  stop: AbortSignal,
): Promise<RunningService> {
  const { dir, cacheDir } = settings;
  const own = { wanted: ["postgres", "redis"] as const, throwaway: true, guard, say: console.log };
  const stack = await startStack({ dir, cacheDir, ...own });
  stop.throwIfAborted();
  const env = { ...probeSettings(settings), ...stackSettings(stack) };
  const { url: base } = await startEntry({ root: ROOT, entry: ENTRY, env, guard });
  const keys = await demoKeys({ folder: dir, database: dir, root: ROOT, entry: ENTRY, env });
  const headers = { authorization: `Bearer ${keys.live_key}` };
  return {
    async ask(address) {
      const url = `${base}/v1/verify?evidence=true&email=${encodeURIComponent(address)}`;
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
      if (!response.ok) throw new Error(`${address}: HTTP ${response.status} ${await response.text()}`);
      const { verdict, reason, checks, evidence } = v.parse(Answer, await response.json());
      const { code, enhanced_code: enhancedCode } = checks.smtp;
      return { verdict, reason, code, enhancedCode, mxHost: evidence?.mx_host ?? null };
    },
  };
}
