import { LIMITS } from "../../../config/limits/limits.ts";
import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { type Dialect, firstBytesOf, lengthAt } from "../csv/dialect.ts";
import { textIn } from "../csv/field.ts";
import { kindOfCell, UNSURE_CELL } from "../csv/plain-address.ts";
import { type ValuePlace, valueAt } from "../csv/value-place.ts";
import { writeValue } from "../csv/write.ts";
import type { JobLayout } from "../jobs/job-sql.ts";
import { writeMark } from "./mark.ts";

/** Before the columns of the list: a mark (mark.ts), and the address that is verified. */
export const SPLIT_COLUMNS = 2;
export const ADDRESS_COLUMN = 1;

/**
 * Limits of a record after the split: those of the list, plus the fields before it. A value may be longer than in the list,
 * by doubled quotes and escaped backslashes.
 */
export function recordBounds({ split }: Pick<JobLayout, "split">): { recordBytes: number; columns: number } {
  const { recordBytes, columns } = LIMITS.bulk;
  if (split === undefined) return { recordBytes, columns };
  return { recordBytes: 4 * recordBytes, columns: columns + SPLIT_COLUMNS };
}

/**
 * The texts of several addresses in one cell, up to LIMITS.bulk.cellAddresses, each of which is verified. null: the cell is
 * not split.
 */
export function splitAddressTexts(cell: string): readonly string[] | null {
  const reading = readAddresses(cell);
  if (reading.kind !== "several" || reading.texts.length > LIMITS.bulk.cellAddresses) return null;
  return reading.texts;
}

/** Receives each record of the rewritten list; its fields are those of the row. */
export type RowSink = (start: number, end: number, fields: number, address: ValuePlace) => void;

const NO_BYTES = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;
const BACKSLASH = "\\";

const isLineEnd = (byte: number | undefined) => byte === LF || byte === CR;

/**
 * Rewrites a list so that each record has one address: a row with several addresses in its cell becomes as many records.
 * Each has SPLIT_COLUMNS fields, and behind them the row's own, byte for byte. So verification, counting and charging
 * handle addresses as rows, and only the results (rows.ts) join them into rows again.
 *
 * Memory: a piece, a record, the lines that TableEnd holds, and the pieces that `takeWritten` has not taken.
 */
export class Splitter {
  readonly #dialect: Dialect;
  readonly #sink: RowSink;
  /** Bytes that are not known to be a record yet, and their position. */
  #rest: Buffer = NO_BYTES;
  #restAt: number;
  /** Behind the last record that was found. */
  #foundTo: number;
  /** Records that were found and may not be rows, by where they begin. */
  readonly #found = new Map<number, Buffer>();
  #written: Buffer[] = [];
  #writtenAt = 0;
  #rows = 0;
  /** Bytes of rows beyond their first record. */
  repeatedBytes = 0;

  /** @param firstByte of the text, where rows may begin */
  constructor(dialect: Dialect, firstByte: number, sink: RowSink) {
    this.#dialect = dialect;
    this.#sink = sink;
    this.#restAt = firstByte;
    this.#foundTo = firstByte;
  }

  /** The next piece of the text from `firstByte` on, before the scanner has it. */
  push(piece: Buffer): void {
    let from = 0;
    // Between records there may be any number of line ends.
    if (this.#rest.length === 0) while (isLineEnd(piece[from])) from += 1;
    this.#restAt += from;
    const more = piece.subarray(from);
    this.#rest = this.#rest.length === 0 ? Buffer.from(more) : Buffer.concat([this.#rest, more]);
  }

  /** The scanner has found a record. Its bytes are copied now: they may be gone once the record is known to be a row. */
  find(start: number, end: number): void {
    this.#found.set(start, this.#rest.subarray(start - this.#restAt, end - this.#restAt));
    this.#foundTo = end;
  }

  /** The scanner has read the piece. */
  forget(): void {
    let from = Math.max(0, this.#foundTo - this.#restAt);
    while (from < this.#rest.length && isLineEnd(this.#rest[from])) from += 1;
    this.#rest = this.#rest.subarray(from);
    this.#restAt += from;
  }

  /** A record that was found is a row. */
  take(start: number, fields: number, address: ValuePlace): void {
    const record = this.#found.get(start);
    if (record === undefined) throw new Error("a row of a list that is split was not found");
    this.#found.delete(start);
    const row = this.#rows++;
    const line = withLineEnd(record, this.#dialect);
    const texts = kindOfCell(address) === UNSURE_CELL ? this.#textsOf(address) : null;
    if (texts === null) this.#write(row, valueAt(address), line, fields, false);
    else this.repeatedBytes += (texts.length - 1) * record.length;
    for (const text of texts ?? [])
      this.#write(row, Buffer.from(text).toString("latin1"), line, fields, true);
  }

  /** The bytes written since the last call, in pieces of about LIMITS.bulk.analysisTickBytes. */
  *takeWritten(): Generator<Buffer> {
    const written = this.#written;
    this.#written = [];
    let from = 0;
    let bytes = 0;
    for (const [i, part] of written.entries()) {
      bytes += part.length;
      if (bytes < LIMITS.bulk.analysisTickBytes && i < written.length - 1) continue;
      yield Buffer.concat(written.slice(from, i + 1));
      from = i + 1;
      bytes = 0;
    }
  }

  #textsOf(address: ValuePlace): readonly string[] | null {
    const texts = splitAddressTexts(textIn(valueAt(address), this.#dialect.encoding));
    return texts?.every((text) => canBeWritten(text, this.#dialect)) === true ? texts : null;
  }

  #write(row: number, address: string, line: Buffer, fields: number, isPart: boolean): void {
    const { delimiter } = this.#dialect;
    const cell =
      this.#dialect.quotes === "text" && this.#dialect.escapedBy === undefined
        ? address
        : writeValue(address, { ...this.#dialect, escapeFormulas: false });
    const mark = writeMark(row, isPart, delimiter);
    const before = Buffer.from(`${mark}${delimiter}${cell}${delimiter}`, "latin1");
    const start = this.#writtenAt;
    this.#written.push(before, line);
    this.#writtenAt += before.length + line.length;
    const bytes = Buffer.from(address, "latin1");
    this.#sink(start, this.#writtenAt, fields, { bytes, from: 0, to: bytes.length });
  }
}

/**
 * True when a text can be a field of the list without changing its meaning. If quotes are ordinary characters, it must not
 * contain a delimiter or a line end. If the list has another encoding than UTF-8, only ASCII is the same in both.
 */
function canBeWritten(text: string, { delimiter, escapedBy, quotes, encoding }: Dialect): boolean {
  if (encoding !== undefined && /[^\0-\x7f]/.test(text)) return false;
  return quotes !== "text" || escapedBy !== undefined || !(text.includes(delimiter) || /[\r\n]/.test(text));
}

/** A record with a line end; the list's last one may lack it. */
function withLineEnd(record: Buffer, dialect: Dialect): Buffer {
  const end = missingEnd(record, dialect);
  return end === "" ? record : Buffer.concat([record, Buffer.from(end)]);
}

function missingEnd(record: Buffer, dialect: Dialect): string {
  if (dialect.escapedBy === undefined) return isLineEnd(record.at(-1)) ? "" : "\n";
  // A backslash at the very end escapes nothing, but it would escape an added line end.
  const last = lastPiece(record.toString("latin1"), dialect);
  if (last === BACKSLASH) return `${BACKSLASH}\n`;
  return last === "\n" || last === "\r" ? "" : "\n";
}

/** The last character that means something, with its escape. */
function lastPiece(text: string, dialect: Dialect): string {
  const firstBytes = firstBytesOf(dialect);
  let last = "";
  for (let at = 0; at < text.length; at += last.length)
    last = text.slice(at, at + lengthAt(text, at, dialect, firstBytes));
  return last;
}
