import type { RcptOutcome } from "../../smtp/wire/outcome.ts";
import { type Classification, classify, restoreReply, type SelfIdentity } from "../classify/classify.ts";
import { RULES } from "../classify/rules/rules.ts";
import type { SmtpEvidence } from "../evidence.ts";

/**
 * Why evidence cannot be judged again: no server spoke; it did, and was not believed; its reply was cut; it named us, by a
 * name that is not ours now.
 */
export type Unjudged = "no_reply" | "not_believed" | "cut" | "named_us";

export type Rejudged =
  | { kind: "unjudged"; why: Unjudged }
  | { kind: "same" | "changed"; ruling: Classification };

const NAMING_US: ReadonlySet<string> = new Set(
  RULES.filter(({ namesUs, namesUsInNote: logsUs }) => namesUs || logsUs).map(({ id }) => id),
);

/** The part of evidence that a class is drawn from. */
export type Judgeable = Pick<SmtpEvidence, "class" | "rule" | "stage" | "code" | "enhancedCode" | "reply">;

/**
 * What today's rules say of a reply that evidence kept. Pure.
 * @param self what we are called now: what we were called when the server spoke is not kept
 */
export function rejudge(smtp: Judgeable, provider: string | null, self: SelfIdentity): Rejudged {
  const { stage } = smtp;
  if (smtp.code === 0 || stage === "dns" || stage === "connect" || smtp.rule === "test_key")
    return { kind: "unjudged", why: "no_reply" };
  if (smtp.class === "provider_unverifiable") return { kind: "unjudged", why: "not_believed" };
  const reply = restoreReply(smtp.reply, smtp.enhancedCode);
  if (reply === null) return { kind: "unjudged", why: "cut" };
  const nowhere = { host: "", address: "", path: "", tls: false, latencyMs: 0 };
  const outcome: RcptOutcome = { kind: "reply", stage, reply, ...nowhere };
  const ruling = classify(outcome, { provider, self });
  // A name that we had, or that servers saw us by: what is left of such a reply may read as a refusal of the recipient.
  if (NAMING_US.has(smtp.rule) && !NAMING_US.has(ruling.rule)) return { kind: "unjudged", why: "named_us" };
  return { kind: ruling.class === smtp.class && ruling.rule === smtp.rule ? "same" : "changed", ruling };
}
