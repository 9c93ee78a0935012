import type { TransactionEnd } from "./batch.ts";
import type { SessionEnd } from "./handshake.ts";
import { ownWords } from "./own-words.ts";

/**
 * `421 4.7.0 mx.example.com Error: too many connections from 192.0.2.1` (Postfix), `421 Too many concurrent SMTP
 * connections; please try again later.` (Exim), `421 4.3.2 The maximum number of concurrent server connections has
 * exceeded a limit` (Exchange), `450 Concurrent connection limit exceeded`.
 */
const CONNECTIONS =
  /\btoo many(?: \w+){0,4} (?:connections|sessions)\b|\bconcurrent(?: \w+){0,3} (?:connections?|sessions?)\b|\b(?:connections?|sessions?)(?: \w+){0,2} (?:limit|exceed)|\bmaximum number of(?: \w+){0,3} (?:connections|sessions)\b/i;

/** What an opening beside working sessions fails with where the server, or a filter before it, counts connections. */
export function mayBeCrowded(end: SessionEnd): boolean {
  if (end.kind === "reply") return end.stage === "greeting" && end.reply.code === 421;
  if (end.stage !== "connect" && end.stage !== "greeting") return false;
  return end.cause === "refused" || end.cause === "closed" || end.cause === "timeout";
}

/**
 * The end says in so many words that too many connections are open. Once an address was sent, only a refusal for now is
 * believed: one for good is about the recipient, and its words may be his.
 */
export function saysCrowded(end: SessionEnd | TransactionEnd): boolean {
  if (end.kind !== "reply" || end.reply.code < 400) return false;
  if (end.reply.code >= 500 && (end.stage === "mail" || end.stage === "rcpt")) return false;
  return CONNECTIONS.test(ownWords(end.reply));
}
