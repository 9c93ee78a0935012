/**
 * Text of strangers for a terminal: characters that would drive it are shown as escapes.
 * @returns one line
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, escapeOf);
}

/** The same of text with lines and tabs, such as CSV. */
export const printableLines = (text: string): string => text.replaceAll(/[^\t\r\n]+/g, printable);

function escapeOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}
