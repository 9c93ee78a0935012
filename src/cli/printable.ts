/** Characters that a terminal may obey instead of showing them. */
const DRIVING = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Text from outside, for a terminal: control characters are shown as escapes.
 * @returns one line
 */
export function printable(text: string): string {
  return text.replaceAll(DRIVING, escapeOf);
}

/** A value as a line of JSON, which a terminal may show too: JSON itself leaves U+009B, which begins a command, as it is. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value).replaceAll(DRIVING, (char) =>
    char.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
  return `${text}\n`;
}

/** The same of text with lines and tabs, such as CSV. */
export const printableLines = (text: string): string => text.replaceAll(/[^\t\r\n]+/g, printable);

function escapeOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}
