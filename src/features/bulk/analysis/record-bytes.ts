import { BACKSLASH, SECOND_BYTE_MIN } from "../csv/dialect.ts";
import type { Lines } from "../csv/lines.ts";
import { HAS_EDGE_SPACE, HAS_ESCAPED, HAS_QUOTE } from "../csv/record-finder.ts";
import type { RecordStyle } from "../csv/write.ts";
import type { RowBuffer } from "./row-buffer.ts";

const QUOTE = 0x22;

/**
 * Copies a record's bytes from the source, if `writeRecord` would write the same bytes for its fields. Most records are so,
 * and their fields need not be read.
 *
 * A class, like everything made for each list here: V8 drops the compiled code of closures with the last of them, and
 * compiled these again for each list.
 */
export class RecordCopier {
  readonly #mayCopy: boolean;
  /** Results have the escapes of their source, so that copied bytes have the same meaning. */
  readonly #isEscaped: boolean;
  readonly #columns: number;

  constructor({ delimiter, escapedBy, columns, escapeFormulas }: RecordStyle) {
    this.#mayCopy = !escapeFormulas && delimiter !== " ";
    this.#isEscaped = escapedBy !== undefined && delimiter.charCodeAt(0) < SECOND_BYTE_MIN;
    this.#columns = columns;
  }

  /** False, and nothing is written, where it is not sure. */
  copy(to: RowBuffer, { bytes, from, to: ends, marks, fields }: Lines, number: number): boolean {
    if (!this.#mayCopy) return false;
    // A field that has a space at an end is written in quotes.
    const isPlain = ((marks[number] as number) & (HAS_QUOTE | HAS_EDGE_SPACE)) === 0;
    // A backslash at the end of the last record would escape the delimiter that comes behind it.
    if (!isPlain && (!this.#isEscaped || bytes[(ends[number] as number) - 1] === BACKSLASH)) return false;
    if ((fields[number] as number) < this.#columns) return false;
    to.part(bytes, from[number] as number, ends[number] as number);
    return true;
  }
}

const COMMA = 0x2c;
const COLUMNS_START = Buffer.from('"columns":["');
const COLUMNS_END = Buffer.from('"],');

/** Writes fields of records whose bytes are all literal in JSON. */
export class FieldWriter {
  readonly #delimiterByte: number;

  constructor(delimiter: string) {
    this.#delimiterByte = delimiter.charCodeAt(0);
  }

  areSelf({ marks }: Lines, number: number): boolean {
    return ((marks[number] as number) & (HAS_QUOTE | HAS_ESCAPED)) === 0;
  }

  /** The address, in quotes; `""` of a record that is too short to have one. */
  writeAddress(to: RowBuffer, { bytes, addressFrom, addressTo }: Lines, number: number): void {
    const from = addressFrom[number] as number;
    const end = addressTo[number] as number;
    const target = to.reserve(end - from + 2);
    let { at } = to;
    target[at++] = QUOTE;
    for (let i = from; i < end; i++) target[at++] = bytes[i] as number;
    target[at++] = QUOTE;
    to.at = at;
  }

  /** All fields, as the member `columns`, with a comma behind it. */
  writeAll(to: RowBuffer, { bytes, from, to: ends }: Lines, number: number): void {
    const delimiterByte = this.#delimiterByte;
    const start = from[number] as number;
    const end = ends[number] as number;
    to.all(COLUMNS_START);
    // A delimiter becomes three bytes.
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
  }
}
