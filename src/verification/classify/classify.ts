import { lazy } from "../../platform/lazy.ts";
import type { FailureCause, RcptOutcome } from "../../smtp/wire/outcome.ts";
import type { Fault, SmtpClass } from "../evidence.ts";
import { prepareReply, type SelfIdentity, withoutOurNames } from "./matchable-reply.ts";
import { compileRules } from "./matcher.ts";
import { FAULT_OF, type Rule } from "./rule.ts";
import { RULES } from "./rules/rules.ts";

export type { SelfIdentity } from "./matchable-reply.ts";
export { redactReply, restoreReply } from "./redact.ts";

export interface Classification {
  class: SmtpClass;
  /** null only for `accepted`. */
  fault: Fault | null;
  /** Id of the rule that decided, `failure.<cause>` where no reply came. */
  rule: string;
}

export interface ClassifyContext {
  provider: string | null;
  self: SelfIdentity;
}

/** Dialogues that ended without a reply. Fault `our_network`: a cap of our own, or a caller that left. */
const FAILURES: Record<FailureCause, { class: SmtpClass; fault: Fault }> = {
  timeout: { class: "timeout", fault: "their_server" },
  refused: { class: "no_connect", fault: "their_server" },
  unreachable: { class: "no_connect", fault: "their_server" },
  proxy: { class: "our_network", fault: "our_network" },
  cut_off: { class: "our_network", fault: "our_network" },
  no_address: { class: "no_connect", fault: "their_server" },
  private_address: { class: "no_connect", fault: "their_server" },
  closed: { class: "smtp_protocol_error", fault: "their_server" },
  protocol: { class: "smtp_protocol_error", fault: "their_server" },
  reply_too_long: { class: "smtp_protocol_error", fault: "their_server" },
  tls: { class: "smtp_protocol_error", fault: "their_server" },
  smtputf8_missing: { class: "refused_by_policy", fault: "their_server" },
  held_back: { class: "sender_blocked", fault: "our_address" },
  no_slot: { class: "timeout", fault: "our_network" },
  cancelled: { class: "timeout", fault: "our_network" },
};

/**
 * Compiled at the first reply: with the other books of phrases some 60 ms of each thread, which its start need not wait
 * for.
 */
const matcher = lazy(() => compileRules(RULES));

/**
 * The meaning of the end of a transaction, and whose fault it is. Pure; linear in the length of the reply. It considers, in
 * this order: stage; a reply that is about us (our address, our name, a DNSBL); known replies of the provider; the enhanced
 * code; the text; the bare code last. In doubt the recipient is not at fault.
 */
export function classify(outcome: RcptOutcome, context: ClassifyContext): Classification {
  if (outcome.kind === "failure") {
    const closedEarly = outcome.cause === "closed" && outcome.stage === "connect";
    const { class: smtpClass, fault } = FAILURES[closedEarly ? "refused" : outcome.cause];
    return { class: smtpClass, fault, rule: `failure.${outcome.cause}` };
  }
  const { stage, reply } = outcome;
  const subject = prepareReply(stage, reply, context.provider, context.self);
  const rule = matcher().find(subject);
  if (rule === null) return { class: "smtp_protocol_error", fault: "their_server", rule: "none" };
  if (subject.namesUs && blamesRecipient(rule)) {
    // A reply that names us condemns a recipient only if it would do so without our name.
    const unnamed = matcher().find(
      prepareReply(stage, withoutOurNames(reply, context.self), context.provider, NO_IDENTITY),
    );
    if (unnamed === null || !blamesRecipient(unnamed))
      return { class: "sender_blocked", fault: "our_address", rule: "us.named" };
  }
  return { class: rule.class, fault: FAULT_OF[rule.class], rule: rule.id };
}

const NO_IDENTITY: SelfIdentity = { heloName: "", addresses: [] };

function blamesRecipient({ class: ruled }: Rule): boolean {
  return ruled === "mailbox_not_found" || ruled === "mailbox_disabled";
}
