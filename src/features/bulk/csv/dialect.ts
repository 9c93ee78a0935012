/** How the bytes of a list are divided into records and fields, and how a field's value is read. */
export interface Dialect {
  /** One ASCII character. */
  delimiter: string;
  /**
   * A backslash escapes a delimiter, quote, backslash or line end that follows it, within quotes and outside, as MySQL and
   * PostgreSQL write it. Absent: a quote within quotes is doubled, and a backslash is an ordinary character.
   */
  escapedBy?: "\\";
  /**
   * `text`: a quote is a character like others. `after_space`: a quote opens a field also behind spaces, unless these delimit
   * fields. Absent: a quote opens only as the first character of a field.
   */
  quotes?: "text" | "after_space";
  /**
   * Encoding of the text, by its name in the WHATWG's Encoding Standard, in lower case. Absent: UTF-8, or windows-1252
   * value by value.
   */
  encoding?: string;
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const SPACE = 0x20;
export const CR = 0x0d;
export const LF = 0x0a;

const QUOTE_CHAR = '"';

/** `delimiter` can part the fields of a list: one ASCII character that can be seen, a space or a tab; no quote. */
export function isDelimiter(delimiter: string): boolean {
  return /^[\t -~]$/.test(delimiter) && delimiter !== QUOTE_CHAR;
}

/** How the results of a list are written. Quotes that are text in the source are quoted by the usual rules. */
export function dialectOfResults({ delimiter, escapedBy, quotes, encoding }: Dialect): Dialect {
  const isText = quotes === "text" && escapedBy === undefined;
  return {
    delimiter,
    ...(escapedBy === undefined ? {} : { escapedBy }),
    ...(quotes === undefined || isText ? {} : { quotes }),
    ...(encoding === undefined ? {} : { encoding }),
  };
}

/** Encodings in which the second byte of a character may be ASCII, from 0x40; by byte: 1 for the first byte of two. */
const FIRST_BYTES: ReadonlyMap<string, Uint8Array> = new Map(
  (
    [
      ["shift_jis", [0x81, 0x9f, 0xe0, 0xfc]],
      ["gbk", [0x81, 0xfe]],
      ["gb18030", [0x81, 0xfe]],
      ["big5", [0x81, 0xfe]],
      ["euc-kr", [0x81, 0xfe]],
    ] as const
  ).map(([encoding, ranges]) => {
    const firstBytes = new Uint8Array(256);
    for (let i = 0; i < ranges.length; i += 2)
      firstBytes.fill(1, ranges[i] as number, (ranges[i + 1] as number) + 1);
    return [encoding, firstBytes];
  }),
);

/** The least second byte of a character. */
export const SECOND_BYTE_MIN = 0x40;

/**
 * By byte: 1 for the first byte of a character whose second one could be taken for the delimiter or an escape. undefined:
 * no byte of this list can be mistaken. Comma, semicolon, tab and quote are never a second byte.
 */
export function firstBytesOf({ delimiter, escapedBy, encoding }: Dialect): Uint8Array | undefined {
  const isAtRisk = escapedBy !== undefined || delimiter.charCodeAt(0) >= SECOND_BYTE_MIN;
  return encoding !== undefined && isAtRisk ? FIRST_BYTES.get(encoding) : undefined;
}

/** True when each byte is literal, except for delimiters, quotes and line ends. */
export function isSimple(dialect: Dialect): boolean {
  return dialect.escapedBy === undefined && firstBytesOf(dialect) === undefined;
}

/** Length of the sequence at `at` of `text` whose characters belong together and are literal. */
export function lengthAt(
  text: string,
  at: number,
  { escapedBy }: Dialect,
  firstBytes: Uint8Array | undefined,
): number {
  if (at + 1 >= text.length) return 1;
  const next = text.charCodeAt(at + 1);
  if (escapedBy !== undefined && text.charCodeAt(at) === BACKSLASH) {
    if (firstBytes?.[next] === 1) return 1;
    return next === CR && text.charCodeAt(at + 2) === LF ? 3 : 2;
  }
  return firstBytes?.[text.charCodeAt(at)] === 1 && next >= SECOND_BYTE_MIN ? 2 : 1;
}

/** Index of the first special occurrence of the character `sought`, from `from` on; the text's length if there is none. */
function find(text: string, sought: string, from: number, dialect: Dialect): number {
  if (isSimple(dialect)) {
    const found = text.indexOf(sought, from);
    return found < 0 ? text.length : found;
  }
  const firstBytes = firstBytesOf(dialect);
  let at = from;
  while (at < text.length && text[at] !== sought) at += lengthAt(text, at, dialect, firstBytes);
  return Math.min(at, text.length);
}

/** The quoted part of a field: from the opening quote to the closing one. */
export interface QuotedPart {
  open: number;
  /** Index of the closing quote; the text's length if there is none. */
  close: number;
}

/** The quoted part of the field that begins at `from`; undefined: the field is not quoted. */
export function quotedPart(text: string, from: number, dialect: Dialect): QuotedPart | undefined {
  if (dialect.quotes === "text") return undefined;
  let open = from;
  const passesSpaces = dialect.quotes === "after_space" && dialect.delimiter !== " ";
  if (passesSpaces) while (text[open] === " ") open += 1;
  if (text[open] !== QUOTE_CHAR) return undefined;
  let close = find(text, QUOTE_CHAR, open + 1, dialect);
  while (text[close + 1] === QUOTE_CHAR) close = find(text, QUOTE_CHAR, close + 2, dialect);
  return { open, close };
}

/**
 * End of the field that begins at `from`: its delimiter, or the end of the text, which is one record without its line end.
 */
export function endOfField(text: string, from: number, dialect: Dialect): number {
  const quoted = quotedPart(text, from, dialect);
  return find(text, dialect.delimiter, quoted === undefined ? from : quoted.close + 1, dialect);
}
