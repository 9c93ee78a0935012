import type { ProbeEnd } from "../egress/breaker/messages.ts";
import type { FailureCause, RcptOutcome } from "../smtp/wire/outcome.ts";
import type { Classification } from "../verification/classify/classify.ts";
import { hasMailReply } from "./probe.ts";

/** Failures without a connection, or without information about the server. */
const OUR_FAULT: ReadonlySet<FailureCause> = new Set([
  "cancelled",
  "no_slot",
  "held_back",
  "no_address",
  "private_address",
  "smtputf8_missing",
  "proxy",
  "cut_off",
]);

/**
 * How a breaker counts the end of a probe. A greeting that refuses us is a block like a reply to RCPT. Silence and a
 * refused connection are not, since dead servers look the same. Nor is a server with too many of our connections or
 * messages at once: it does not object to us.
 */
export function probeEndOf(
  outcome: RcptOutcome,
  ruling: Classification,
  isNetworkDown: boolean,
  redacted: () => string,
): ProbeEnd {
  if (outcome.kind === "failure")
    return { kind: isNetworkDown || OUR_FAULT.has(outcome.cause) ? "ours" : "inconclusive" };
  const { path, stage } = outcome;
  if (ruling.class === "sender_blocked")
    return { kind: "blocked", path, early: stage !== "rcpt", rule: ruling.rule, reply: redacted() };
  if (ruling.class === "rate_limited_by_server") return { kind: "inconclusive" };
  return hasMailReply(outcome) ? { kind: "passed", path } : { kind: "inconclusive" };
}
