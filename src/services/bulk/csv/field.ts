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

/** A value as text: values are bytes read as latin1, in lists that are UTF-8. What is no UTF-8 becomes U+FFFD. */
export function toText(latin1: string): string {
  return /[\x80-\xff]/.test(latin1) ? Buffer.from(latin1, "latin1").toString("utf8") : latin1;
}
