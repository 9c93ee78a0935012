import type { SmtpReply } from "../../smtp/wire/reply.ts";
import { inPlainWords } from "./plain-words.ts";

/** An enhanced code in front of a line; in the middle of a reply it tears the sentence apart. */
const LINE_CODE = /^[#[(]?[245]\.[0-9]{1,3}\.[0-9]{1,3}[)\]]?(?=\s)/;

/** All lines as one, controls and runs of white space as one space: servers break sentences anywhere. */
export function textOf(reply: SmtpReply): string {
  return reply.lines
    .map((line, index) => (index === 0 ? line : line.replace(LINE_CODE, "")))
    .join(" ")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
}

/** A quoted local part with what follows it, or any run without white space and punctuation. Both bounded or linear. */
const TOKEN = /"[^"]{0,80}"@[^\s<>()[\]{},;:"']*|[^\s<>()[\]{},;:"']+/g;

/** Replaces a mail address. */
export const REDACTED = "*@*";

/** Said of every bounce; no sign of a fault of the sender. */
const RETURNED = /\breturn(?:ed|ing|s)?(?: (?:message|mail|it))? to (?:the )?sender\b/g;
/** Barracuda's text around the next server's reply. */
const FRAME = /\bpermanent failure for one or more recipients\b/g;

/** A trace behind the last word, `[aBcD123]`: an id has a digit, and no dot as addresses and names have. */
const CLOSING_TRACE = / ?[[(](?=[a-z_+/=-]{0,63}\d)[a-z0-9_+/=-]{4,64}[\])]\.?$/;

/** An unfilled template variable: `{Gateway}`. */
const UNFILLED = /\{[a-z_]{1,30}\}/g;

/** `example.com does not exist` is about a domain. `*` represents its name. */
const HOST_IS_MISSING =
  /\*(?<=(?:^|[:;,] |^[\d.]{5,9} )\*)(?= (?:(?:is|was) )?(?:does not exist|doesn't exist|not found|unknown|invalid) ?(?:[.,;)]|$))/g;

/**
 * Advice to the sender after the reason, which is not a reason: `User unknown. Senders may contact …`, `…; information for
 * senders: …`.
 */
const ADVICE = new RegExp(
  `(?<=[a-z)][.;,] )(?:${[
    "(?:more )?(?:information|help|instructions|notes?) (?:for|to) (?:the )?senders?",
    "if you are the sender,? (?:please )?(?:check|correct|remove|update|verify|contact)",
    "(?:the )?senders? (?:should|may|can|must) (?:please )?(?:check|correct|remove|update|contact)",
    "please (?:ask|tell|inform|notify) the sender",
  ].join("|")})\\b`,
  "g",
);

/** `text` without the phrases of every bounce: `user unknown, message returned to sender`. */
export function withoutCourtesies(text: string): string {
  const unframed = text.includes("permanent failure") ? text.replace(FRAME, ",") : text;
  const plain = unframed.includes("sender")
    ? unframed.replace(RETURNED, "returned").replace(ADVICE, "")
    : unframed;
  return inPlainWords(
    plain.replace(CLOSING_TRACE, "").replace(UNFILLED, "").replace(HOST_IS_MISSING, "domain"),
  );
}

/** @param instead gives the text that replaces an address */
export function withoutAddresses(
  text: string,
  instead: (address: string) => string = () => REDACTED,
): string {
  return text.replace(TOKEN, (token) => (token.includes("@") ? instead(token) : token));
}

/**
 * A host name by itself, lower case. Three labels and a short top level, since `user unknown.blocked here` is a sentence
 * and `smtpsend.dns.nonexistentdomain` a diagnosis. Not in a link, which names the reason.
 */
const HOST = /(?<![\w./-])(?:[a-z0-9_-]{1,63}\.){2,}[a-z]{2,6}(?![\w/-]|\.\w)/g;

/**
 * A host name of any number of labels. Its top level is a well-known one, or a country's that is not a short word: servers
 * forget the space after a full stop (`unknown user.in this domain`).
 */
const KNOWN_HOST =
  /(?<![\w./-])(?:[a-z0-9_-]{1,63}\.){1,8}(?:com|net|org|edu|gov|mil|info|biz|name|app|dev|shop|online|xyz|example|test|invalid|(?!at|be|by|do|in|is|it|me|my|no|so|to|us|as|am|an|if|of|on|or|up|we|he|go|la|le|el|es|se|si|un|al|en|et|il|ne|te|ta|tu)[a-z]{2})(?![\w/-]|\.\w)/g;

/** `text` with a `*` for each host name. */
export function withoutHosts(text: string): string {
  return text.replace(HOST, "*").replace(KNOWN_HOST, "*");
}

/** Replaces a name of ours. No reply contains it: `textOf` removes controls. */
export const NAME = "\u0001";

/** Replaces each of `names` in `text` by `NAME`, except as a part of a longer name or number. */
export function withoutNames(names: readonly string[], text: string): string {
  return names.reduce((rest, name) => withoutName(name.toLowerCase(), rest), text);
}

function withoutName(name: string, text: string): string {
  let kept = "";
  let from = 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? " ";
    const after = text.slice(at + name.length, at + name.length + 2);
    if (/[a-z0-9.:-]/.test(before) || /^(?:[a-z0-9-]|[.:][a-z0-9])/.test(after)) continue;
    kept += text.slice(from, at) + NAME;
    from = at + name.length;
  }
  return kept + text.slice(from);
}
