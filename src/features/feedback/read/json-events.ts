import type { GivenAnswer, MessageOutcome, ReportedEvent } from "../event.ts";
import { readBounce } from "./bounce-class.ts";

/** An event as a program reports it. */
export interface JsonEvent
  extends Partial<Record<"reason" | "provider" | "rule", string | null | undefined>> {
  address: string;
  outcome: MessageOutcome;
  /** ISO 8601. */
  at?: string | undefined;
  /** For a bounce: the SMTP reply, or the text of a report. */
  reply?: string | undefined;
  enhanced_code?: string | undefined;
  bounce?: "hard" | "soft" | undefined;
  /** The answer that rcpt had given. */
  verdict?: GivenAnswer["verdict"] | undefined;
  /** The mail server that refused. */
  mx_host?: string | undefined;
}

/** Reads why messages bounced: up to a quarter of a millisecond each. */
export function readJsonEvents(events: readonly JsonEvent[]): ReportedEvent[] {
  return events.map((event) => {
    const {
      address,
      outcome,
      at,
      bounce,
      reply = "",
      enhanced_code: code = null,
      mx_host: mxHost = "",
    } = event;
    const permanent = bounce === undefined ? null : bounce === "hard";
    return {
      address,
      outcome,
      atMs: at === undefined ? null : Date.parse(at),
      bounce: outcome === "bounced" ? readBounce({ reply, enhancedCode: code, permanent, mxHost }) : null,
      verdict: event.verdict ?? null,
      reason: event.reason ?? null,
      provider: event.provider ?? null,
      rule: event.rule ?? null,
    };
  });
}
