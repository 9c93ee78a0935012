/** A shorter word, or one with fewer digits, is a code, a size or a host's number, which a server says again. */
const ID_CHARS = 8;
const ID_DIGITS = 4;

/** Our own address, mostly, which a server repeats to all clients from there. */
const IPV4 = /^\D*\d{1,3}(?:\.\d{1,3}){3}\D*$/;
const LINK = /^\W*https?:/;

/** Rows of a list mostly get the same reply. */
let last = { reply: "", hasId: false };

/**
 * Whether a reply has an id of its own in it, as those of large providers have, or a time: hardly any other address has the
 * same. A guess, which costs bytes alone where it is wrong: a reply that is not shared, or one that is interned in vain.
 */
export function hasOwnId(reply: string): boolean {
  if (reply !== last.reply) last = { reply, hasId: reply.split(/\s+/).some(isId) };
  return last.hasId;
}

function isId(word: string): boolean {
  if (word.length < ID_CHARS) return false;
  let digits = 0;
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) digits += 1;
  }
  return digits >= ID_DIGITS && !IPV4.test(word) && !LINK.test(word);
}
