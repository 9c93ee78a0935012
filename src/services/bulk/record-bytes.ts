import { HAS_EDGE_SPACE, HAS_ESCAPED, HAS_QUOTE, type Lines } from "./csv/lines.ts";
import type { RecordStyle } from "./csv/write.ts";
import type { RowBytes } from "./row-bytes.ts";

const QUOTE = 0x22;

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
  return (to, { bytes, from, to: ends, marks, fields }, number) => {
    // A field that has a space at an end is written in quotes.
    if (((marks[number] as number) & (HAS_QUOTE | HAS_EDGE_SPACE)) !== 0) return false;
    if ((fields[number] as number) < columns) return false;
    to.part(bytes, from[number] as number, ends[number] as number);
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

export function createFieldWriter(delimiter: string): FieldWriter {
  const delimiterByte = delimiter.charCodeAt(0);
  return {
    areSelf: ({ marks }, number) => ((marks[number] as number) & (HAS_QUOTE | HAS_ESCAPED)) === 0,
    writeAddress(to, { bytes, addressFrom, addressTo }, number) {
      const from = addressFrom[number] as number;
      const end = addressTo[number] as number;
      const target = to.reserve(end - from + 2);
      let { at } = to;
      target[at++] = QUOTE;
      for (let i = from; i < end; i++) target[at++] = bytes[i] as number;
      target[at++] = QUOTE;
      to.at = at;
    },
    writeAll(to, { bytes, from, to: ends }, number) {
      const start = from[number] as number;
      const end = ends[number] as number;
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
