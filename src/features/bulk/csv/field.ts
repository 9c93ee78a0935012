import { isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import { type Dialect, endOfField, firstBytesOf, isSimple, lengthAt, quotedPart } from "./dialect.ts";

const QUOTE = '"';
const BACKSLASH = "\\";

/** A field without a value (NULL) in files of MySQL and PostgreSQL. */
export const NULL_FIELD = "\\N";

/**
 * The value of a field, from its text between delimiters. `""` within quotes is a quote. If more text follows the closing
 * quote, the quotes are part of the value, like csv-parse's `relax_quotes`. Exception: a NUL behind the closing quote,
 * which itself is kept.
 */
export function fieldValue(raw: string, dialect: Dialect): string {
  const quoted = quotedPart(raw, 0, dialect);
  if (quoted === undefined) return unescaped(raw, dialect, false);
  const { open, close } = quoted;
  if (close === raw.length) throw new Error("a field ends within its quotes");
  const value = unescaped(raw.slice(open + 1, close), dialect, true);
  const rest = unescaped(raw.slice(close + 1), dialect, false);
  return rest === "" || rest.startsWith("\0") ? value + rest : `${raw.slice(0, open)}"${value}"${rest}`;
}

/** A backslash before an ordinary character is kept: `\N` and `C:\temp` are unchanged. */
function unescaped(text: string, dialect: Dialect, isQuoted: boolean): string {
  if (dialect.escapedBy === undefined)
    return isQuoted && text.includes(QUOTE) ? text.replaceAll('""', QUOTE) : text;
  const firstBytes = firstBytesOf(dialect);
  let value = "";
  for (let at = 0; at < text.length; ) {
    const length = lengthAt(text, at, dialect, firstBytes);
    const piece = text.slice(at, at + length);
    at += length;
    if (isQuoted && piece === QUOTE && text[at] === QUOTE) at += 1;
    const isEscape = length > 1 && piece.startsWith(BACKSLASH);
    value += isEscape && hasMeaning(piece.charAt(1), dialect) ? piece.slice(1) : piece;
  }
  return value;
}

function hasMeaning(character: string, { delimiter }: Dialect): boolean {
  return character === delimiter || /["\\\r\n]/.test(character);
}

/** The fields of a record without its line end, latin1: the values of the fields that RecordFinder finds. */
export function fieldsOf(line: string, dialect: Dialect): string[] {
  const hasQuotes = dialect.quotes !== "text" && line.includes(QUOTE);
  if (!hasQuotes && isSimple(dialect)) return line.split(dialect.delimiter);
  const fields: string[] = [];
  for (let from = 0; ; ) {
    const end = endOfField(line, from, dialect);
    fields.push(fieldValue(line.slice(from, end), dialect));
    if (end === line.length) return fields;
    from = end + 1;
  }
}
/** The characters of windows-1252 at the positions of Latin-1's controls 80 to 9F, by the WHATWG's Encoding Standard. */
const WINDOWS_1252 =
  "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

/**
 * A value as text: values are bytes read as latin1. They are UTF-8; those that cannot be are windows-1252, in which old
 * programs write, value by value. So nothing is lost: no value gets a U+FFFD that it did not have.
 */
export function toText(latin1: string): string {
  if (!/[\x80-\xff]/.test(latin1)) return latin1;
  const bytes = Buffer.from(latin1, "latin1");
  if (isUtf8(bytes)) return bytes.toString("utf8");
  return latin1.replace(/[\x80-\x9f]/g, (c1) => WINDOWS_1252[c1.charCodeAt(0) - 0x80] as string);
}

/** The same of a value of a list in the encoding (Dialect). */
export function textIn(latin1: string, encoding: string | undefined): string {
  if (encoding === undefined || !/[\x80-\xff]/.test(latin1)) return toText(latin1);
  return decoderOf(encoding).decode(Buffer.from(latin1, "latin1"));
}

const decoders = new Map<string, TextDecoder>();

function decoderOf(encoding: string): TextDecoder {
  const known = decoders.get(encoding);
  if (known !== undefined) return known;
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  decoders.set(encoding, decoder);
  return decoder;
}

/** The same value in UTF-8, a character a byte: `toText` reads it without an encoding. */
export function toUtf8(latin1: string, encoding: string | undefined): string {
  if (encoding === undefined || !/[\x80-\xff]/.test(latin1)) return latin1;
  return Buffer.from(textIn(latin1, encoding)).toString("latin1");
}
