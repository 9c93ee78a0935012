import type { TransactionEnd } from "./batch.ts";
import type { SessionEnd } from "./handshake.ts";
import type { Reply } from "./reply.ts";

/**
 * `421 4.7.0 mx.example.com Error: too many connections from 192.0.2.1` (Postfix), `421 Too many concurrent SMTP
 * connections; please try again later.` (Exim), `421 4.3.2 The maximum number of concurrent server connections has
 * exceeded a limit` (Exchange), `450 Concurrent connection limit exceeded`.
 */
const CONNECTIONS =
  /\btoo many(?: \w+){0,4} (?:connections|sessions)\b|\bconcurrent(?: \w+){0,3} (?:connections?|sessions?)\b|\b(?:connections?|sessions?)(?: \w+){0,2} (?:limit|exceed)|\bmaximum number of(?: \w+){0,3} (?:connections|sessions)\b/i;

/** The server says that too many connections are open to it. */
export function isCrowded(reply: Reply): boolean {
  return reply.code >= 400 && CONNECTIONS.test(reply.lines.join(" "));
}

/** What an opening beside working sessions fails with where the server, or a filter before it, counts connections. */
export function mayBeCrowded(end: SessionEnd): boolean {
  if (end.kind === "reply") return end.stage === "greeting" && end.reply.code === 421;
  if (end.stage !== "connect" && end.stage !== "greeting") return false;
  return end.cause === "refused" || end.cause === "closed" || end.cause === "timeout";
}

/** The end says in so many words that too many connections are open. */
export function saysCrowded(end: SessionEnd | TransactionEnd): boolean {
  return end.kind === "reply" && isCrowded(end.reply);
}
