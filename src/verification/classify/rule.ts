import type { Fault, SmtpClass } from "../evidence.ts";
import type { Statement } from "./grammar.ts";
import type { ReplyStage } from "./matchable-reply.ts";

/** One known meaning of servers' replies. Every condition given must hold. */
export interface Rule {
  /** Stable: it is stored with the evidence. */
  id: string;
  /** Stages it speaks of; all when absent. */
  stages?: readonly ReplyStage[];
  /** Leading digits of the reply code, any of them: `5`, `55`, `421`. */
  codes?: readonly string[];
  /** Enhanced codes, any of them: `5.1.1` exactly, `5.7.` all below, `x.2.2` in either class, `5.7.6##` any digits. */
  enhanced?: readonly string[];
  /** Enhanced codes with which it has another meaning: none may be present. */
  unlessEnhanced?: readonly string[];
  /** Providers whose wording this is, any of them. */
  providers?: readonly string[];
  /** The reply names our address or our HELO name. */
  namesUs?: true;
  /** The reply names us in a closing note of the client, and nowhere else. */
  namesUsInNote?: true;
  /** The reply names us only in a salutation or in a link. */
  namesUsInGreeting?: true;
  /** Nothing was said but codes. */
  wordless?: true;
  /** A few words behind the code: no name, number, link or code of their own. */
  terse?: true;
  /** Statements about the recipient: any of these (grammar.ts). */
  says?: readonly Statement[];
  /** Statements about the recipient that must be absent. */
  unlessSays?: readonly Statement[];
  /** The words have no other subject than the recipient. */
  unlessElsewhere?: true;
  /** The words give no reason of their own (silence.ts). */
  silent?: true;
  /** The statement is about the sender, not the recipient: unknown, invalid. */
  ofSender?: true;
  /** The words name a delay (delay.ts). */
  namesDelay?: true;
  /** Lower-case fragments, any of them. */
  text?: readonly string[];
  /** Lower-case fragments, any of them beside one of `text`; host names count. */
  beside?: readonly string[];
  /** Lower-case fragments, none of them; host names do not count. */
  unless?: readonly string[];
  class: SmtpClass;
  /** A reply that servers really give and that this rule is for. */
  example: string;
  /** Source of the example: a key of THIRD_PARTY_NOTICES.md, section "Replies of mail servers". */
  source: string;
}

/** The party at fault by class. Only a fault of the recipient can condemn an address. */
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
