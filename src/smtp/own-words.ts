import type { Reply } from "./reply.ts";

/** Codes about the mailbox, its address or the message: such a reply says nothing of the server's own limits. */
const ABOUT_ANOTHER = /^[245]\.[126]\./;
const TOKEN = /\S+/g;

/**
 * What a server says of itself: the words of `reply` without all that may repeat an address, since whoever has us ask
 * for `"too many connections"@example.com` would else put words in its mouth. Gone are tokens with an `@`, and all from
 * the first to the last quote or angle bracket. "" where the enhanced code is about the recipient.
 */
export function ownWords(reply: Reply): string {
  if (reply.enhanced !== null && ABOUT_ANOTHER.test(reply.enhanced)) return "";
  return withoutQuotes(reply.lines.join(" ")).replace(TOKEN, (token) => (token.includes("@") ? "*" : token));
}

/** By the outermost marks, not by pairs: a quoted local part may hold marks of its own. One that stays open takes the rest. */
function withoutQuotes(text: string): string {
  const from = text.search(/["<]/);
  if (from < 0) return text;
  const closing = text.lastIndexOf(">");
  const to = text[from] === "<" ? closing : Math.max(closing, text.lastIndexOf('"'));
  if (to <= from) return `${text.slice(0, from)} * `;
  const [rest = ""] = text.slice(to + 1).split(/["<]/, 1);
  return `${text.slice(0, from)} * ${rest}`;
}
