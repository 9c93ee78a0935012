import { LIMITS } from "../../core/limits.ts";
import type { Reply } from "../../smtp/reply.ts";
import { textOf, withoutAddresses } from "./text.ts";

/** Shorter local parts stand everywhere, and tell little. */
const NAME_CHARS_MIN = 3;

/** Local parts that replies use as words: where they stand they name nobody, and without them the reason is lost. */
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

/** Bytes that are UTF-8 as characters, any others as Latin-1, which the reply was read as. For readers, not for rules. */
function readable(latin1: string): string {
  const utf8 = Buffer.from(latin1, "latin1").toString("utf8");
  return utf8.includes("\ufffd") ? latin1 : utf8;
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

/**
 * A reply as evidence keeps it: code and text on one line, at most `LIMITS.check.replyTextChars` characters, without
 * controls, without the addresses that it quotes (the one asked for, the sender, a postmaster), and without the local
 * part asked for where it stands alone: `550 User john.doe unknown`.
 * @param local the local part of the address asked for, as in the address
 */
export function redactReply(reply: Reply, local: string): string {
  const decoded = textOf({ ...reply, lines: reply.lines.map(readable) });
  const text = withoutAddresses(decoded.slice(0, LIMITS.check.replyMatchedChars));
  return `${reply.code} ${withoutLocalPart(text, local)}`.trim().slice(0, LIMITS.check.replyTextChars);
}
