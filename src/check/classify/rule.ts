import type { Fault, SmtpClass } from "../evidence.ts";
import type { ReplyStage, Subject } from "./subject.ts";

/** One fact about what servers say. Every condition given must hold; text is plain substrings, so matching is linear. */
export interface Rule {
  /** Stable: it is stored with the evidence. */
  id: string;
  /** Stages it speaks of; all when absent. */
  stages?: readonly ReplyStage[];
  /** Leading digits of the reply code, any of them: `5`, `55`, `421`. */
  codes?: readonly string[];
  /** Enhanced codes, any of them: `5.1.1` exactly, `5.7.` all below, `x.2.2` in either class, `5.7.6##` any digits. */
  enhanced?: readonly string[];
  /** Providers whose wording this is, any of them. */
  providers?: readonly string[];
  /** The reply names our address or our HELO name. */
  namesUs?: true;
  /** The reply names us in a closing note of who asked, and nowhere else. */
  logsUs?: true;
  /** Nothing was said but codes. */
  wordless?: true;
  /** Lower-case fragments, any of them. */
  text?: readonly string[];
  /** Lower-case fragments, none of them; host names do not count. */
  unless?: readonly string[];
  class: SmtpClass;
  /** A reply that servers really give and that this rule is for. */
  example: string;
}

/** Whose fault each class is. Only what is the recipient's can condemn an address. */
export const FAULT_OF: Record<SmtpClass, Fault | null> = {
  accepted: null,
  mailbox_not_found: "recipient",
  mailbox_disabled: "recipient",
  mailbox_full: "recipient",
  refused_by_policy: "their_server",
  sender_blocked: "our_address",
  greylisted: "their_server",
  rate_limited_by_server: "their_server",
  smtp_protocol_error: "their_server",
  no_connect: "their_server",
  timeout: "their_server",
  our_network: "our_network",
  provider_unverifiable: "their_server",
};

function hasCode(code: string, enhanced: string | null): boolean {
  if (enhanced === null) return false;
  if (code.startsWith("x.")) return enhanced.slice(1) === code.slice(1);
  const digits = code.indexOf("#");
  if (digits >= 0) return enhanced.length === code.length && enhanced.startsWith(code.slice(0, digits));
  return code.endsWith(".") ? enhanced.startsWith(code) : enhanced === code;
}

/** What is said of a mailbox must be said in words: a server that is called `mailbox.example.com` has said nothing. */
function heard(rule: Rule, subject: Subject): string {
  return rule.class === "mailbox_not_found" || rule.class === "mailbox_disabled"
    ? subject.prose
    : subject.text;
}

export function matches(rule: Rule, subject: Subject): boolean {
  const { stages, codes, enhanced, providers, text, unless } = rule;
  if (stages && !stages.includes(subject.stage)) return false;
  if (codes && !codes.some((digits) => subject.code.startsWith(digits))) return false;
  if (enhanced && !enhanced.some((code) => hasCode(code, subject.enhanced))) return false;
  if (providers && !providers.includes(subject.provider ?? "")) return false;
  if (rule.namesUs && !subject.namesUs) return false;
  if (rule.logsUs && !subject.logsUs) return false;
  if (rule.wordless && !subject.wordless) return false;
  if (text && !text.some((fragment) => heard(rule, subject).includes(fragment))) return false;
  return !unless?.some((fragment) => subject.prose.includes(fragment));
}
