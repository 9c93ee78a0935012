import { LIMITS } from "../../config/limits/limits.ts";
import type { SmtpReply } from "../../smtp/wire/reply.ts";
import { decoded } from "./decoding.ts";
import type { SelfIdentity } from "./matchable-reply.ts";
import { REDACTED, textOf, withoutAddresses, withoutNames } from "./text.ts";

/** Shorter local parts occur in ordinary text, and reveal little. */
const NAME_CHARS_MIN = 3;

/** Local parts that replies use as words: such a word identifies no recipient, and without it the reason is lost. */
const ORDINARY_WORDS: ReadonlySet<string> = new Set(
  [
    "user users unknown recipient recipients address addresses mailbox mailboxes account accounts member customer client",
    "mail email e-mail message messages sender postmaster admin administrator abuse support help contact info",
    "information service services server system host domain network relay local access policy security spam virus",
    "error failure reason code invalid denied rejected refused blocked disabled inactive full quota limit storage",
    "not found exist exists such here the and for please see try again later temporary unavailable smtp esmtp http",
    "https www com net org",
  ].flatMap((line) => line.split(" ")),
);

/** Decodes the bytes, unless another script would swallow an `@`, after which an address would be overlooked. */
function readable(latin1: string): string {
  const text = decoded(latin1);
  return text.split("@").length === latin1.split("@").length ? text : latin1;
}

/** The forms in which a server may say a local part: as it is, without its quotes, without its tag. */
function spellings(local: string): string[] {
  const content = local.startsWith('"') ? local.slice(1, -1).replaceAll(/\\(.)/g, "$1") : local;
  const untagged = content.slice(0, content.indexOf("+"));
  return [local, content, ...(content.includes("+") ? [untagged] : [])].filter(
    (name) => name.length >= NAME_CHARS_MIN && !ORDINARY_WORDS.has(name.toLowerCase()),
  );
}

const ASCII = /^[\0-\x7f]*$/;

/**
 * False when `name` surely is not in `text` in any case. Few replies name the local part by itself, and a pattern made
 * for each of them cost more than the rest of the probe: half of a busy thread's time, measured.
 */
function mayHold(text: string, name: string): boolean {
  if (!ASCII.test(text) || !ASCII.test(name)) return true;
  return text.toLowerCase().includes(name.toLowerCase());
}

/** `text` with a `*` for each whole word, in any case, that is the local part; `DOMAIN\name` and `name%domain` too. */
function withoutLocalPart(text: string, local: string): string {
  const said = spellings(local).filter((name) => mayHold(text, name));
  if (said.length === 0) return text;
  const names = said.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return text.replaceAll(
    new RegExp(`(?<![\\p{L}\\p{N}])(?:${names.join("|")})(?![\\p{L}\\p{N}])`, "giu"),
    "*",
  );
}

/** The replacement of an address. At a host name or address of ours the name is kept, since such a reply is about us. */
function redactedBut({ heloName, addresses }: SelfIdentity): (address: string) => string {
  const names = [...addresses, ...(heloName.includes(".") ? [heloName] : [])];
  return (address) => {
    const lower = address.toLowerCase();
    const name = names.find((own) => withoutNames([own], lower) !== lower);
    return name === undefined ? REDACTED : `*@${name}`;
  };
}

/** An address whose `@` is written otherwise: in a link, in full width, in words. Each part is bounded. */
const DISGUISED =
  /[\p{L}\p{N}._+-]{1,64}(%40|\uff20| ?[([]at[)\]] ?)([\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,8})/giu;

function withoutDisguised(text: string, instead: (address: string) => string): string {
  return text.replace(DISGUISED, (_, at: string, host: string) =>
    instead(`*@${host}`).replace("@", () => at),
  );
}

/** The end of a reply that was cut. */
const CUT = "\u2026";

/**
 * The text of a reply that evidence keeps: code and text on one line, without controls, without the addresses that it
 * quotes (the checked one, the sender, a postmaster), and without the checked local part by itself: `550 User john.doe
 * unknown`. At most `LIMITS.check.replyTextChars` characters, of which the last is `…` if it was cut. An uncut text has the
 * same classification as the reply.
 * @param local the local part of the checked address, as in the address
 */
export function redactReply(reply: SmtpReply, local: string, self: SelfIdentity): string {
  const { replyMatchedChars, replyTextChars } = LIMITS.check;
  const said = textOf({ ...reply, lines: reply.lines.map(readable) });
  const instead = redactedBut(self);
  const text = withoutDisguised(withoutAddresses(said.slice(0, replyMatchedChars), instead), instead);
  const kept = `${reply.code} ${withoutLocalPart(text, local)}`.trim();
  if (said.length <= replyMatchedChars && kept.length <= replyTextChars) return kept;
  return `${kept.slice(0, replyTextChars - CUT.length).padEnd(replyTextChars - CUT.length)}${CUT}`;
}

/** The same for a reply that is short enough and does not contain the local part by itself; null: it would be cut. */
export function redactWholeReply(reply: SmtpReply, self: SelfIdentity): string | null {
  const { replyMatchedChars, replyTextChars } = LIMITS.check;
  const said = textOf({ ...reply, lines: reply.lines.map(readable) });
  if (said.length > replyMatchedChars) return null;
  const instead = redactedBut(self);
  const kept = `${reply.code} ${withoutDisguised(withoutAddresses(said, instead), instead)}`.trim();
  return kept.length <= replyTextChars ? kept : null;
}

/**
 * Restores the reply from its text in evidence; null: the text was cut.
 * @param kept by `redactReply`
 * @param enhanced the reply's enhanced code
 */
export function restoreReply(kept: string, enhanced: string | null): SmtpReply | null {
  if (kept.length === LIMITS.check.replyTextChars && kept.endsWith(CUT)) return null;
  const code = Number(kept.slice(0, 3));
  if (!(code >= 200 && code <= 599)) return null;
  return { code, enhanced, lines: [Buffer.from(kept.slice(4)).toString("latin1")] };
}
