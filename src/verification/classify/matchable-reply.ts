import { LIMITS } from "../../config/limits/limits.ts";
import type { Stage } from "../../smtp/wire/outcome.ts";
import type { SmtpReply } from "../../smtp/wire/reply.ts";
import { decoded } from "./decoding.ts";
import { NAME, textOf, withoutAddresses, withoutCourtesies, withoutHosts, withoutNames } from "./text.ts";

export type ReplyStage = Exclude<Stage, "dns" | "connect">;

/** Our names and addresses, as a server may quote them. */
export interface SelfIdentity {
  heloName: string;
  /** The sender that we give: a statement about it is not about the recipient. */
  mailFrom?: string;
  /** Our addresses as the server sees them, IPv4 or IPv6 text; may be empty when not known. */
  addresses: readonly string[];
}

/** A reply made ready for matching. */
export interface MatchableReply {
  stage: ReplyStage;
  /** Three digits. */
  code: string;
  enhanced: string | null;
  provider: string | null;
  /** Lower case, one line, single spaces, mail addresses replaced, so that no mailbox name can look like a reason. */
  text: string;
  /** `text` without host names: a server's name `blocked-mail.example.com` is not a reason. */
  prose: string;
  /** Codes and punctuation alone. */
  wordless: boolean;
  /** True for at most a few words after the enhanced code, without a name, number, link or code. */
  terse: boolean;
  namesUs: boolean;
  /**
   * True when the text names us only in a note of the client. The note ends the text, in brackets or after `from` or
   * `client`, or begins it, behind a tag.
   */
  namesUsInNote: boolean;
  /**
   * It names us only where that is not a reason: in a salutation (`Hi [192.0.2.1], …`) or in a link for looking things up.
   */
  namesUsInGreeting: boolean;
}

/** Enhanced codes that a parser of RFC 2034 does not see: `550 #5.1.0 Address rejected` (Cisco), `(5.1.1)`, `5.1.1:`. */
const LOOSE_ENHANCED = /(?:^|[\s#([-])([245]\.[0-9]{1,3}\.[0-9]{1,3})(?=$|[\s)\]:,;])/;

const TERSE = /^[#[(]?[245]\.[0-9]{1,3}\.[0-9]{1,3}[)\]]?:?[a-z ,.!'-]{0,60}$/;

/** Our names in brackets or after a word for the client, with ports, at the end. Every repeat is bounded. */
const CLOSING_NOTE = new RegExp(
  `(?:\\b(?:client|from|ip|remote|peer|relay)[ :=]{1,3}[([]{0,2}|[([]{1,2})${NAME}[)\\]]{0,2}(?::[0-9]{1,5})?` +
    `(?:[ ,]{0,2}[([]{0,2}${NAME}[)\\]]{0,2}(?::[0-9]{1,5})?){0,3}[)\\].;, ]{0,4}$`,
);

/** `Hi [192.0.2.1],`. */
const SALUTATION = new RegExp(
  `\\b(?:hi|hello|dear|sorry|bonjour|hallo)[ ,]{1,3}[([<]?${NAME}[)\\]>]?(?=[\\s,.!:;])`,
  "g",
);
/** A server's own tag and the client, in front of the reason: `RUSR 192.0.2.1: No such user`. */
const OPENING_NOTE = new RegExp(
  `^(?:[245]\\.[0-9]{1,3}\\.[0-9]{1,3} )?[a-z0-9_-]{2,16} [([]?${NAME}[)\\]]?: `,
);
const LINK = /\bhttps?:\/\/\S+/g;

function enhancedOf(reply: SmtpReply, text: string): string | null {
  if (reply.enhanced !== null) return reply.enhanced;
  const loose = LOOSE_ENHANCED.exec(text)?.[1] ?? null;
  return loose !== null && loose[0] === String(reply.code)[0] ? loose : null;
}

/** The lines that are matched: up to a maximum of characters, decoded. */
function firstLines(lines: readonly string[]): readonly string[] {
  const most = LIMITS.check.replyMatchedChars;
  let chars = 0;
  const count = lines.findIndex((line) => {
    chars += line.length + 1;
    return chars > most;
  });
  return count < 0 ? lines : lines.slice(0, count + 1).map((line) => line.slice(0, most));
}

/** `raw` with the word `sender` before our own sender address, as if the server had named its role. */
function withSender(mailFrom: string | undefined, raw: string): string {
  return mailFrom === undefined || !raw.includes(mailFrom)
    ? raw
    : raw.replaceAll(mailFrom, `sender ${mailFrom}`);
}

export function prepareReply(
  stage: ReplyStage,
  reply: SmtpReply,
  provider: string | null,
  self: SelfIdentity,
): MatchableReply {
  const lines = firstLines(reply.lines).map(decoded);
  const raw = textOf({ ...reply, lines })
    .slice(0, LIMITS.check.replyMatchedChars)
    .toLowerCase();
  const text = withoutAddresses(withSender(self.mailFrom?.toLowerCase(), raw));
  // Looked for in the untouched text: our sender address names us too.
  const masked = withoutNames(namesOf(self), raw);
  const namesUs = masked !== raw;
  const hostless = withoutHosts(text);
  return {
    stage,
    code: String(reply.code),
    enhanced: enhancedOf(reply, text),
    provider,
    text,
    prose: withoutCourtesies(hostless),
    terse: TERSE.test(hostless),
    wordless: /^[0-9\s.#()[\]:;,-]*$/.test(text),
    namesUs,
    namesUsInGreeting: namesUs && !masked.replace(LINK, " ").replace(SALUTATION, " ").includes(NAME),
    namesUsInNote: namesUs && !masked.replace(CLOSING_NOTE, "").replace(OPENING_NOTE, "").includes(NAME),
  };
}

/** The names by which a reply may call us. A HELO name of one label is too common a word to look for. */
function namesOf({ addresses, heloName }: SelfIdentity): string[] {
  return [...addresses, ...(heloName.includes(".") ? [heloName] : [])];
}

/** `reply` as it would be if it did not call us anything: without the notes, links and salutations that hold our names. */
export function withoutOurNames(reply: SmtpReply, self: SelfIdentity): SmtpReply {
  const raw = textOf({ ...reply, lines: firstLines(reply.lines).map(decoded) })
    .slice(0, LIMITS.check.replyMatchedChars)
    .toLowerCase();
  const rest = withoutNames(namesOf(self), raw)
    .replace(LINK, (link) => (link.includes(NAME) ? "" : link))
    .replace(SALUTATION, "")
    .replace(CLOSING_NOTE, "")
    .replace(OPENING_NOTE, "")
    .replaceAll(NAME, "");
  return { ...reply, lines: [Buffer.from(rest).toString("latin1")] };
}
