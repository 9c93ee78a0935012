import type { Dialect } from "../../../src/features/bulk/csv/dialect.ts";

/** First bytes of Shift_JIS whose second byte is at least 0x40. */
const isFirstByte = (character: string) => /[\x81-\x9f\xe0-\xfc]/.test(character);

/**
 * The records of a list in a dialect that csv-parse does not support. Reads one character after the other, slowly, and
 * shares no code with the service. Of multi-byte encodings it supports Shift_JIS.
 */
export function referenceRecords(text: string, dialect: Dialect): string[][] | "quote_not_closed" {
  const { delimiter, escapedBy, quotes } = dialect;
  const isAtRisk = escapedBy !== undefined || delimiter >= "@";
  const hasPairs = dialect.encoding === "shift_jis" && isAtRisk;
  const records: string[][] = [];
  let record: string[] = [];
  let at = 0;

  /** The next character: its text, the value that it stands for, and whether it has a meaning in CSV. */
  function next(): { raw: string; value: string; means: boolean } {
    const character = text.charAt(at);
    const following = text.charAt(at + 1);
    let raw = character;
    if (following !== "" && character === escapedBy && !(hasPairs && isFirstByte(following)))
      raw += following === "\r" && text[at + 2] === "\n" ? "\r\n" : following;
    else if (following >= "@" && hasPairs && isFirstByte(character)) raw += following;
    at += raw.length;
    const isEscape = raw.length > 1 && character === escapedBy;
    const isSpecial = `${delimiter}"\\\r\n`.includes(following);
    return { raw, value: isEscape && isSpecial ? raw.slice(1) : raw, means: raw.length === 1 };
  }

  function unquoted(): string {
    let value = "";
    for (;;) {
      const character = text.charAt(at);
      if (character === "" || character === delimiter || character === "\r" || character === "\n")
        return value;
      value += next().value;
    }
  }

  function field(): string | null {
    const start = at;
    if (quotes === "after_space") while (text[at] === " ") at += 1;
    if (quotes === "text" || text[at] !== '"') {
      at = start;
      return unquoted();
    }
    const before = text.slice(start, at);
    at += 1;
    let value = "";
    for (;;) {
      if (at === text.length) return null;
      const { raw, value: part, means } = next();
      if (raw !== '"' || !means) value += part;
      else if (text[at] === '"') {
        value += '"';
        at += 1;
      } else break;
    }
    const rest = unquoted();
    return rest === "" || rest.startsWith("\0") ? value + rest : `${before}"${value}"${rest}`;
  }

  while (at < text.length) {
    if (record.length === 0 && /[\r\n]/.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    const value = field();
    if (value === null) return "quote_not_closed";
    record.push(value);
    const end = text.charAt(at);
    at += end === "\r" && text[at + 1] === "\n" ? 2 : 1;
    if (end !== delimiter) {
      records.push(record);
      record = [];
    } else if (at >= text.length) records.push([...record, ""]);
  }
  return records;
}
