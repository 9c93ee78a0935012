import { delayNamed } from "../classify/delay.ts";
import type { SmtpClass, SmtpEvidence } from "../evidence.ts";

/**
 * How soon a temporary reply may become an answer. `soon`: greylisting, limits and troubles of the server. `seldom`: a full
 * mailbox, which its owner has to empty.
 */
export type RetryProspect = "soon" | "seldom";

/** Answers about the mailbox that stay true until its owner or its provider changes it, and ends that no reply decides. */
const FINAL: ReadonlySet<SmtpClass> = new Set([
  "accepted",
  "mailbox_not_found",
  "mailbox_disabled",
  "sender_blocked",
  "provider_unverifiable",
  "timeout",
  "our_network",
]);

/** Temporary by their meaning, whatever the code. */
const TRANSIENT: ReadonlySet<SmtpClass> = new Set(["greylisted", "rate_limited_by_server"]);

/** The rule for a permanent code whose words say that it passes. */
const PASSING_RULE = "text.passing";

/** `try later`, `come back later`, `temporarily`, `greylisted`, `retry in`. */
const LATER = /\blater\b|\btemporar|\bgr[ae]y[ -]?list|\b(?:retry|try again|come back) (?:in|after)\b/i;

/** The evidence that decides whether a reply is temporary. */
export type RepliedEvidence = Pick<SmtpEvidence, "class" | "code" | "reply" | "rule">;

/**
 * Whether the server wants to be asked again: every 4xx (RFC 5321, 4.2.1), and a 5xx whose words say so. Null for an answer,
 * for a failure without a reply, and for a refusal of us, which has rules of its own (`sender_blocked`). Pure.
 */
export function retryProspectOf({ class: end, code, reply, rule }: RepliedEvidence): RetryProspect | null {
  if (FINAL.has(end)) return null;
  const isTransient = (code >= 400 && code < 500) || TRANSIENT.has(end);
  if (!isTransient && !(code >= 500 && (rule === PASSING_RULE || wantsRetry(reply)))) return null;
  return end === "mailbox_full" && !wantsRetry(reply) ? "seldom" : "soon";
}

function wantsRetry(reply: string): boolean {
  return LATER.test(reply) || delayNamed(reply) !== null;
}

/** The address was accepted, and the catch-all probe behind it got a temporary reply: both are asked again. */
export function isCatchAllDeferred({
  class: end,
  catchAll,
}: Pick<SmtpEvidence, "class" | "catchAll">): boolean {
  return end === "accepted" && catchAll === "put_off";
}
