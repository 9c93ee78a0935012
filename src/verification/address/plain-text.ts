/** Invisible characters that no valid address has: soft hyphens, zero-width spaces, marks of direction, BOMs. */
const INVISIBLE =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f]|[\u180b-\u180f]|[\u{e0100}-\u{e01ef}])\p{Default_Ignorable_Code_Point}|\u180e/gu;

/** Joiners and variation selectors, which some scripts need, beside ASCII or at an end. */
const STRAY_JOINER =
  /(?<![^\0-\x7f])(?:\u200c|\u200d|[\ufe00-\ufe0f])(?!\u20e3)|(?:\u200c|\u200d)(?![^\0-\x7f])/gu;

const PRINTABLE = /^[ -~]*$/;

/** White space of any script, and controls. */
const BLANK = "\\s\\p{Z}\\p{Cc}\\u2800";
const AROUND = new RegExp(`^[${BLANK}]+|(?<![${BLANK}])[${BLANK}]+$`, "gu");
const ONLY_BLANK = new RegExp(`^[${BLANK}]*$`, "u");

/** An empty cell that a spreadsheet wrote as text, or in quotes. */
const EMPTY_QUOTES = /^=?""$|^''?$/;

const FULL_WIDTH_AT = /[\uff20\ufe6b]/g;
const FULL_WIDTH_ASCII = /[\uff01-\uff5e]/g;
const FULL_WIDTH_DOT = /[\u3002\uff61]/g;
const FULL_WIDTH_OFFSET = 0xff01 - 0x21;

const HTML_ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', nbsp: " " };
const HTML_ENTITY = /&(lt|gt|quot|nbsp);/gi;

/**
 * RFC 6068: addresses, and fields that a mail program fills in, which are not text of the list. Not within a quoted local
 * part.
 */
const MAILTO = /mailto:(?![^"]{0,128}"@)([^\s<>?"()[\]]*)(\?[^\s<>"()[\]]*)?/gi;

/**
 * A text without invisible characters and the spaces around it; full width is converted to ASCII, `mailto:` and HTML are
 * decoded. null for a `mailto:` that cannot be decoded, or would hide a line end in an address.
 */
export function plainText(text: string): string | null {
  // Half the time of a cell with a name before its address, since nearly all are ASCII.
  let plain = PRINTABLE.test(text) ? text : text.replace(INVISIBLE, "").replace(STRAY_JOINER, "");
  plain = plain.replace(AROUND, "");
  if (!plain.includes("@") && /[\uff20\ufe6b]/.test(plain)) plain = toAscii(plain);
  if (plain.includes("&"))
    plain = plain.replace(HTML_ENTITY, (_, name) => HTML_ENTITIES[name.toLowerCase()] ?? "");
  return /mailto:/i.test(plain) ? withoutEscapes(plain) : plain;
}

export function isBlank(plain: string): boolean {
  return ONLY_BLANK.test(plain) || EMPTY_QUOTES.test(plain);
}

function toAscii(text: string): string {
  return text
    .replace(FULL_WIDTH_AT, "@")
    .replace(FULL_WIDTH_ASCII, (c) => String.fromCharCode(c.charCodeAt(0) - FULL_WIDTH_OFFSET))
    .replace(FULL_WIDTH_DOT, ".");
}

function withoutEscapes(text: string): string | null {
  try {
    return text.replace(MAILTO, (_, addresses: string) => {
      const decoded = decodeURIComponent(addresses);
      if (/\p{Cc}/u.test(decoded)) throw new URIError("a control character in mailto:");
      return `mailto:${decoded}`;
    });
  } catch {
    return null;
  }
}
