/** Text of cell values: as a person sees them, if that is simple, and dates by ISO 8601. */

const DAY_MS = 86_400_000;
/** 9999-12-31: spreadsheets do not show later days as dates either. */
const LAST_DAY = 2_958_466;
/** Spreadsheets count digits of a number so far. */
const DIGITS = 15;
/** Number formats that need no definition: dates and times (ECMA-376 part 1, 18.8.30, and those of East Asian locales). */
const DATE_FORMATS: readonly (readonly [from: number, to: number])[] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
];

/** Whether the built-in number format of that id shows a date or a time. */
export function isBuiltInDate(id: number): boolean {
  return DATE_FORMATS.some(([from, to]) => id >= from && id <= to);
}

/** Whether a number format, e.g. `dd/mm/yyyy` or `[$-409]h:mm AM/PM;@`, shows a date or a time. */
export function isDateFormat(code: string): boolean {
  const [first = ""] = code
    .replace(/"[^"]*"|\\.|[_*]./gs, "")
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, "")
    .split(";");
  return !/general|standard/i.test(first) && /[ymdhs]/i.test(first);
}

/** A number as it is in the file: without the digits that binary fractions add. */
export function numberText(raw: string): string {
  const text = raw.trim();
  if (/^-?\d{1,15}$/.test(text)) return text;
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return text;
  return String(Number(value.toPrecision(DIGITS)));
}

/** Days since the workbook's first day as a date, a time or both; any other number unchanged. */
export function dateText(raw: string, is1904: boolean): string {
  const serial = Number(raw);
  if (raw.trim() === "" || !(serial >= 0 && serial < LAST_DAY)) return numberText(raw);
  const seconds = Math.round(serial * 86_400);
  const days = Math.floor(seconds / 86_400);
  const time = new Date((seconds % 86_400) * 1_000).toISOString().slice(11, 19);
  if (days === 0 && serial > 0) return time;
  // The first of two calendars has a 29th of February 1900, which never was.
  const epochMs = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const date = new Date(epochMs + days * DAY_MS).toISOString().slice(0, 10);
  return seconds % 86_400 === 0 ? date : `${date}T${time}`;
}

/** Characters that XML cannot hold are written `_x000D_` (ECMA-376 part 1, 22.9.2.19); line ends become one kind. */
export function stringText(raw: string): string {
  const text = raw.includes("_x")
    ? raw.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : raw;
  return text.includes("\r") || text.includes("\0")
    ? text.replace(/\r\n?/g, "\n").replaceAll("\0", "")
    : text;
}

/** Column of a reference such as `BC12`, from 0; -1: it is none. */
export function columnOf(reference: string): number {
  let column = 0;
  for (let i = 0; i < reference.length && i < 4; i++) {
    const letter = reference.charCodeAt(i) & ~0x20;
    if (letter < 0x41 || letter > 0x5a) return column - 1;
    column = column * 26 + letter - 0x40;
  }
  return -1;
}
