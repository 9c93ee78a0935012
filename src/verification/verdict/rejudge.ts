import type { RcptOutcome } from "../../smtp/wire/outcome.ts";
import { type Classification, classify, restoreReply, type SelfIdentity } from "../classify/classify.ts";
import { RULES } from "../classify/rules/rules.ts";
import type { SmtpEvidence } from "../evidence.ts";

/**
 * Why evidence cannot be judged again: there was no server's reply; the reply was not believed; it was cut; or it named us,
 * by a name that we do not have now.
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
 * Applies today's rules to a reply in evidence. Pure.
 * @param self our present names: those at the time of the reply are not stored
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
  // It named us by an earlier name, or by an address that servers saw. The rest of such a reply may look like a refusal of
  // the recipient.
  if (NAMING_US.has(smtp.rule) && !NAMING_US.has(ruling.rule)) return { kind: "unjudged", why: "named_us" };
  return { kind: ruling.class === smtp.class && ruling.rule === smtp.rule ? "same" : "changed", ruling };
}
