import { LIMITS } from "../../../config/limits/limits.ts";
import { classify } from "../../../verification/classify/classify.ts";
import type { SmtpClass } from "../../../verification/evidence.ts";
import { siteOf } from "../../../verification/lists/site.ts";

/** Why a message bounced: the classes of replies, and what only a bounce can say. */
export type BounceReason = Exclude<SmtpClass, "accepted"> | "domain_not_found" | "unspecified";

export interface BounceClass {
  reason: BounceReason;
  /** The rule that decided; null: the reply had no usable text or code. */
  rule: string | null;
  /** The recipient cannot be reached at all: no such mailbox or domain, or a mailbox that was closed. */
  hard: boolean;
  /** The provider whose mail server refused, where the bounce names it; null: not known. */
  provider: string | null;
}

/** The cause of a bounce, as its report states it. */
export interface BounceStatement {
  /** The SMTP reply, or the text of the server that gave up; "": none. */
  reply: string;
  /** RFC 3463, e.g. `5.1.1`; null: not said. */
  enhancedCode: string | null;
  /** The judgement of the sender's own system; null: it gave none. Used only without a reply and a code. */
  permanent: boolean | null;
  /** The mail server that refused; "": not said. */
  mxHost: string;
}

const HARD_REASONS: ReadonlySet<BounceReason> = new Set([
  "mailbox_not_found",
  "mailbox_disabled",
  "domain_not_found",
]);

/**
 * Text around a reply in a report: its type (RFC 3464), the server that sent it (Postfix, qmail), and the command it
 * answers.
 */
const TYPE = /^\s*(?:smtp|x-[a-z0-9-]{1,30})\s*;\s*/i;
const SAID = /^.{0,300}? (?:said|responded with|replied): ?/is;
const COMMAND_NOTE = /\s*\((?:in reply to|after) [^()]{1,60}\)\s*$/i;
/** A reply's code at the start, or behind a colon: `… after RCPT TO:<a@b.example>: 550 5.1.1 …`. */
const CODE = /(?:^|[:;(\s])([245][0-5][0-9])[ -](?=[^0-9]|[245]\.)/;
const ENHANCED = /(?:^|[\s#([-])([245]\.[0-9]{1,3}\.[0-9]{1,3})(?=$|[\s)\]:,;])/;
const ENHANCED_ONLY = /^[245]\.[0-9]{1,3}\.[0-9]{1,3}$/;

/** The DNS does not know the domain. A sending server states that itself, so the text has no reply code. */
const NO_DOMAIN =
  /host (?:or domain name )?not found|domain (?:name )?(?:[^\s]{1,255} )?(?:does not exist|not found)|nxdomain|unrouteable (?:mail )?domain|no such domain|couldn't find any host|point to non-existent hosts/i;
const NO_DOMAIN_CODES: ReadonlySet<string> = new Set(["5.1.2", "5.4.310"]);
/** RFC 3463 §3.5: routing. */
const ROUTING: Readonly<Record<string, BounceReason>> = {
  "4.1": "no_connect",
  "4.2": "timeout",
  "4.7": "timeout",
};

interface FoundReply {
  /** 0: no reply's code is in it. */
  code: number;
  enhanced: string | null;
  /** The text without codes. */
  text: string;
}

/** The reply in a text, its lines joined: `550-5.1.1 no such 550 5.1.1 user` is `no such user`. */
function findReply(said: string, enhancedCode: string | null): FoundReply {
  const bare = said.replace(TYPE, "").replace(SAID, "").replace(COMMAND_NOTE, "");
  const found = CODE.exec(bare);
  const enhanced =
    enhancedCode !== null && ENHANCED_ONLY.test(enhancedCode)
      ? enhancedCode
      : (ENHANCED.exec(bare)?.[1] ?? null);
  if (found === null) return { code: 0, enhanced, text: bare.trim() };
  const [, digits = ""] = found;
  const behind = bare.slice(found.index + found[0].length);
  const text = behind
    .replaceAll(new RegExp(`\\s${digits}[ -](?:[245]\\.[0-9]{1,3}\\.[0-9]{1,3}\\s)?`, "g"), " ")
    .replace(/^[245]\.[0-9]{1,3}\.[0-9]{1,3}\s/, "");
  return { code: Number(digits), enhanced, text: text.trim() };
}

/** The reason when the sender's own server gave up without a reply; null: the text is a mail server's reply. */
function withoutReply({ code, enhanced, text }: FoundReply): BounceReason | null {
  if (enhanced !== null && NO_DOMAIN_CODES.has(enhanced)) return "domain_not_found";
  if (code !== 0) return null;
  if (NO_DOMAIN.test(text)) return "domain_not_found";
  return (enhanced !== null && ROUTING[enhanced.slice(2)]) || null;
}

/** A bounce's class, with its statement. */
export const readBounce = (said: BounceStatement): BounceClass & { said: BounceStatement } => ({
  ...classifyBounce(said),
  said,
});

/** The code that a reply of this enhanced code would have. */
function codeOf(enhanced: string | null, permanent: boolean | null): number {
  if (enhanced !== null) return Number(enhanced[0]) * 100 + 50;
  return permanent === false ? 450 : 550;
}

/**
 * Why a message bounced, by the rules that read replies of probes (`verification/classify`), at the stage RCPT. Pure; linear in
 * the length of the reply, of which LIMITS.feedback.replyChars count.
 */
export function classifyBounce({ reply, enhancedCode, permanent, mxHost }: BounceStatement): BounceClass {
  const host = mxHost.toLowerCase().replace(/\.$/, "");
  const { provider } = siteOf(host === "" ? [] : [host], host);
  const found = findReply(reply.slice(0, LIMITS.feedback.replyChars).replace(/\s+/g, " "), enhancedCode);
  const own = withoutReply(found);
  if (own !== null) return { reason: own, rule: null, hard: HARD_REASONS.has(own), provider };
  if (found.text === "" && found.enhanced === null)
    return { reason: "unspecified", rule: null, hard: permanent === true, provider };
  const { class: read, rule } = classify(
    {
      kind: "reply",
      stage: "rcpt",
      reply: {
        code: found.code === 0 ? codeOf(found.enhanced, permanent) : found.code,
        enhanced: found.enhanced,
        // In the form of a server's reply: one character a byte.
        lines: [Buffer.from(`${found.enhanced ?? ""} ${found.text}`.trim()).toString("latin1")],
      },
      ...{ host, address: "", path: "", tls: false, latencyMs: 0 },
    },
    // The sending server is not known here: no reply can be seen to name it.
    { provider, self: { heloName: "", addresses: [] } },
  );
  if (read === "accepted") return { reason: "unspecified", rule: null, hard: false, provider };
  return { reason: read, rule, hard: HARD_REASONS.has(read), provider };
}
