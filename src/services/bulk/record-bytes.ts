import type { Lines } from "./csv/lines.ts";
import type { RecordStyle } from "./csv/write.ts";
import type { SourceLayout } from "./layout.ts";
import type { RowBytes } from "./row-bytes.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const TAB = 0x09;
const BACKSLASH = 0x5c;
const FIRST_VISIBLE = 0x21;
const LAST_VISIBLE = 0x7e;

/**
 * Writes a record as it stands in the source, where `writeRecord` would make of its fields the record itself: most are so, and
 * need no look at their fields. False, and nothing is written, where that is not sure.
 */
export function createRecordCopier({
  delimiter,
  columns,
  escapeFormulas,
}: RecordStyle): (to: RowBytes, lines: Lines, number: number) => boolean {
  if (escapeFormulas || delimiter === " ") return () => false;
  const delimiterByte = delimiter.charCodeAt(0);
  return (to, { bytes, from, to: ends }, number) => {
    const start = from[number] ?? 0;
    const end = ends[number] ?? 0;
    const target = to.reserve(end - start);
    let { at } = to;
    let fields = 1;
    // A field that has a space at an end is written in quotes.
    let before = delimiterByte;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte === delimiterByte) {
        if (before === SPACE) return false;
        fields += 1;
      } else if (byte === QUOTE || (byte === SPACE && before === delimiterByte)) return false;
      target[at++] = byte;
      before = byte;
    }
    if (before === SPACE || end === start || fields < columns) return false;
    to.at = at;
    return true;
  };
}

/** Writes fields of records whose bytes all stand for themselves in JSON. */
export interface FieldWriter {
  areSelf(lines: Lines, number: number): boolean;
  /** The address, in quotes; `""` of a record that is too short to have one. */
  writeAddress(to: RowBytes, lines: Lines, number: number): void;
  /** All fields, as the member `columns`, with a comma behind it. */
  writeAll(to: RowBytes, lines: Lines, number: number): void;
}

const OTHER = 0;
const SELF = 1;
const DELIMITER = 2;

export function createFieldWriter({
  delimiter,
  emailColumn,
}: Pick<SourceLayout, "delimiter" | "emailColumn">): FieldWriter {
  const delimiterByte = delimiter.charCodeAt(0);
  /** By byte, what it is. */
  const kinds = new Uint8Array(256);
  kinds[SPACE] = SELF;
  for (let byte = FIRST_VISIBLE; byte <= LAST_VISIBLE; byte++)
    if (byte !== QUOTE && byte !== BACKSLASH) kinds[byte] = SELF;
  if (kinds[delimiterByte] === SELF || delimiterByte === TAB) kinds[delimiterByte] = DELIMITER;

  return {
    areSelf({ bytes, from, to }, number) {
      const end = to[number] ?? 0;
      for (let i = from[number] ?? 0; i < end; i++) if (kinds[bytes[i] as number] === OTHER) return false;
      return true;
    },
    writeAddress(to, { bytes, from, to: ends }, number) {
      const end = ends[number] ?? 0;
      const target = to.reserve(end - (from[number] ?? 0) + 2);
      let { at } = to;
      target[at++] = QUOTE;
      let column = 0;
      for (let i = from[number] ?? 0; i < end && column <= emailColumn; i++) {
        const byte = bytes[i] as number;
        if (byte === delimiterByte) column += 1;
        else if (column === emailColumn) target[at++] = byte;
      }
      target[at++] = QUOTE;
      to.at = at;
    },
    writeAll(to, { bytes, from, to: ends }, number) {
      const start = from[number] ?? 0;
      const end = ends[number] ?? 0;
      to.all(COLUMNS_START);
      // Of a delimiter three bytes come to be.
      const target = to.reserve(3 * (end - start));
      let { at } = to;
      for (let i = start; i < end; i++) {
        const byte = bytes[i] as number;
        if (byte === delimiterByte) {
          target[at] = QUOTE;
          target[at + 1] = COMMA;
          target[at + 2] = QUOTE;
          at += 3;
        } else target[at++] = byte;
      }
      to.at = at;
      to.all(COLUMNS_END);
    },
  };
}

const COMMA = 0x2c;
const COLUMNS_START = Buffer.from('"columns":["');
const COLUMNS_END = Buffer.from('"],');
