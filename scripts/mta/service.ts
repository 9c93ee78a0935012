import * as v from "valibot";
import type { Guard } from "../embedded/guard.ts";
import { startThrowaway } from "../start/throwaway.ts";
import type { ServiceAnswer } from "./comparison.ts";

const ANSWER_WITHIN_MS = 60_000;

const Answer = v.object({
  verdict: v.string(),
  reason: v.string(),
  checks: v.object({ smtp: v.object({ code: v.number(), enhanced_code: v.nullable(v.string()) }) }),
  evidence: v.nullish(v.object({ mx_host: v.string(), stage: v.string(), rule: v.string() })),
});

export interface ServiceSettings {
  dnsServer: string;
  smtpPort: number;
  heloName: string;
  /** `<>` is the null sender. */
  mailFrom: string;
}

export interface RunningService {
  /**
   * Verifies one address with the live key of an enterprise team.
   * @param refresh do not be content with what the cache knows
   */
  ask(address: string, refresh: boolean): Promise<ServiceAnswer>;
}

/**
 * Starts the service of this tree, with the resolver and probe settings of `settings`. The guard ends it.
 *
 * @throws Error on `stop`, or when a part does not start; the service's messages are on the terminal.
 */
export async function startRcpt(
  settings: ServiceSettings,
  guard: Guard,
  stop: AbortSignal,
): Promise<RunningService> {
  const { url: base, live_key: key } = await startThrowaway(
    {
      DNS_SERVERS: settings.dnsServer,
      SMTP_PORT: String(settings.smtpPort),
      SMTP_HELO_NAME: settings.heloName,
      SMTP_MAIL_FROM: settings.mailFrom,
      PROBE_PRIVATE_ADDRESSES: "true",
    },
    guard,
    console.log,
  );
  stop.throwIfAborted();
  return {
    async ask(address, refresh) {
      const url = `${base}/v1/verify?evidence=true&refresh=${refresh}&email=${encodeURIComponent(address)}`;
      const options = {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      };
      const response = await fetch(url, options);
      if (!response.ok) throw new Error(`${address}: HTTP ${response.status} ${await response.text()}`);
      const { verdict, reason, checks, evidence } = v.parse(Answer, await response.json());
      const { code, enhanced_code: enhancedCode } = checks.smtp;
      const { mx_host: mxHost = null, stage = null, rule = null } = evidence ?? {};
      return { verdict, reason, code, enhancedCode, mxHost, stage, rule };
    },
  };
}
