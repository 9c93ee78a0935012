import type { SmtpReply } from "./reply.ts";

/** Codes about the mailbox, its address or the message: such a reply says nothing about the server's own limits. */
const ABOUT_MAILBOX_CODE = /^[245]\.[126]\./;
const TOKEN = /\S+/g;

/**
 * The server's own text: the words of `reply` without anything that may repeat an address. Otherwise a check of `"too many
 * connections"@example.com` could put words in the server's mouth. Removes tokens with an `@`, and everything from the
 * first to the last quote or angle bracket. "" when the enhanced code is about the recipient.
 */
export function extractServerText(reply: SmtpReply): string {
  if (reply.enhanced !== null && ABOUT_MAILBOX_CODE.test(reply.enhanced)) return "";
  return removeQuoted(reply.lines.join(" ")).replace(TOKEN, (token) => (token.includes("@") ? "*" : token));
}

/**
 * Cuts at the outermost marks, not by pairs: a quoted local part may hold marks of its own. An unclosed mark takes the
 * rest.
 */
function removeQuoted(text: string): string {
  const from = text.search(/["<]/);
  if (from < 0) return text;
  const closing = text.lastIndexOf(">");
  const to = text[from] === "<" ? closing : Math.max(closing, text.lastIndexOf('"'));
  if (to <= from) return `${text.slice(0, from)} * `;
  const [rest = ""] = text.slice(to + 1).split(/["<]/, 1);
  return `${text.slice(0, from)} * ${rest}`;
}
