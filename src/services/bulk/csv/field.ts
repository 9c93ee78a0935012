import { isUtf8 } from "node:buffer";

const QUOTE = '"';

/** `delimiter` can part the fields of a list: one ASCII character that can be seen, a space or a tab; no quote. */
export function isDelimiter(delimiter: string): boolean {
  return /^[\t -~]$/.test(delimiter) && delimiter !== QUOTE;
}

/**
 * The value of a field as it stands between its delimiters, as csv-parse reads it with `relax_quotes`. A quote opens
 * only at the start of a field and `""` inside is a quote. When more follows the closing quote, the quotes stay part of
 * the value; but not when what follows is a NUL, which closes a quoted field and is itself kept.
 */
export function fieldValue(raw: string): string {
  if (!raw.startsWith(QUOTE)) return raw;
  let value = "";
  let from = 1;
  for (;;) {
    const quote = raw.indexOf(QUOTE, from);
    if (quote < 0) throw new Error("a field ends within its quotes");
    value += raw.slice(from, quote);
    if (raw[quote + 1] !== QUOTE) {
      const rest = raw.slice(quote + 1);
      return rest === "" || rest.startsWith("\0") ? value + rest : `"${value}"${rest}`;
    }
    value += QUOTE;
    from = quote + 2;
  }
}

/** What windows-1252 has where Latin-1 has the controls 80 to 9F, by the WHATWG's Encoding Standard. */
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
