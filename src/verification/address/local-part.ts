const MAX_LOCAL_OCTETS = 64;

/** RFC 5322 §3.2.3 `atext`, with the non-ASCII of RFC 6531 §3.3. */
const DOT_ATOM =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u0080-\u{10ffff}]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u0080-\u{10ffff}]+)*$/u;
/** The form of nearly all local parts: no further check is needed, which is four times as fast. */
const PLAIN = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*$/;
/** RFC 5321 §4.1.2: `qtextSMTP` and `quoted-pairSMTP` are printable ASCII and space only. */
const QUOTED_CONTENT = /^[\x20-\x7e\u0080-\u{10ffff}]+$/u;
/**
 * Non-ASCII characters that no mailbox needs and that deceive readers or break output: controls, marks of direction,
 * spaces, private use, and a leading combining mark, which would join the character in front of the address. Also U+FFFD,
 * which replaces a lost character: the rest would be another's address.
 */
const UNPRINTABLE =
  /^\p{M}|\ufffd|(?![\u200c\u200d])\p{Cf}|\p{Cc}|\p{Co}|\p{Cs}|(?!\x20)\p{Z}|\p{Noncharacter_Code_Point}/u;
/** Scripts in which a joiner between letters changes how they are written, as RFC 5892 has it. */
const JOINING = [
  ...[
    "Arabic",
    "Syriac",
    "Nko",
    "Mongolian",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
  ],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Myanmar", "Tibetan", "Balinese", "Javanese"],
]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
/**
 * Invisible characters with a purpose: joiners inside words and emoji, and selectors behind a character whose shape they
 * select.
 */
const SHAPING = new RegExp(
  [
    `(?<=[${JOINING}]\\p{M}*)[\\u200c\\u200d](?=[${JOINING}])`,
    "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})",
    "(?<=[^\\0-\\x7f])(?<=\\p{Emoji})[\\ufe0e\\ufe0f]|(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
    "(?<=\\p{Script=Han})[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]",
    "(?<=\\p{Script=Mongolian})[\\u180b-\\u180d\\u180f]",
  ].join("|"),
  "gu",
);
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;

/** True when it has invisible characters without a visible effect: two addresses that look the same would differ. */
function hasHiddenCharacters(content: string): boolean {
  return INVISIBLE.test(content) && INVISIBLE.test(content.replace(SHAPING, ""));
}

/** RFC 6531 §3.3 lets non-ASCII into `qtextSMTP`, not behind the backslash of `quoted-pairSMTP`. */
const ESCAPABLE = /[\x20-\x7e]/;

export type LocalPartFault = "local_part_empty" | "local_part_syntax" | "local_part_too_long";

export type LocalPartResult = { ok: true; local: string } | { ok: false; reason: LocalPartFault };

/** The content of a quoted string without quotes and escapes; null where a backslash escapes nothing it may. */
function unquote(text: string): string | null {
  let content = "";
  for (let i = 1; i < text.length - 1; i++) {
    if (text[i] === "\\" && !ESCAPABLE.test(text[++i] ?? "")) return null;
    if (i >= text.length - 1) return null;
    content += text[i];
  }
  return content;
}

/** A quote is needed only if the content is not a dot-atom: RFC 5321 §4.1.2 says `"a"@x` and `a@x` are one mailbox. */
function canonical(content: string): string {
  return DOT_ATOM.test(content) ? content : `"${content.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Checks a local part in its wire form, dot-atom or quoted string, already in NFC, and gives its shortest equal form.
 * The case is kept: only the receiving server may say that case does not matter (RFC 5321 §2.4).
 */
export function parseLocalPart(text: string): LocalPartResult {
  if (text.length <= MAX_LOCAL_OCTETS && PLAIN.test(text)) return { ok: true, local: text };
  if (text === "" || text === '""') return { ok: false, reason: "local_part_empty" };
  const content = text.startsWith('"') ? unquote(text) : text;
  if (content === null || UNPRINTABLE.test(content) || hasHiddenCharacters(content))
    return { ok: false, reason: "local_part_syntax" };
  const wellFormed = text.startsWith('"') ? QUOTED_CONTENT.test(content) : DOT_ATOM.test(content);
  if (!wellFormed) return { ok: false, reason: "local_part_syntax" };
  const local = canonical(content);
  if (Buffer.byteLength(local) > MAX_LOCAL_OCTETS) return { ok: false, reason: "local_part_too_long" };
  return { ok: true, local };
}

/** Index of the `@` behind a local part; -1: there is none. A quoted local part may contain further ones. */
export function endOfLocalPart(text: string): number {
  if (!text.startsWith('"')) return text.indexOf("@");
  for (let i = 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return text[i + 1] === "@" ? i + 1 : -1;
  }
  return -1;
}
