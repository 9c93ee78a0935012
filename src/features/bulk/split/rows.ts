import type { RowBuffer, RowBufferFactory } from "../analysis/row-buffer.ts";
import { type Dialect, endOfField } from "../csv/dialect.ts";
import { fieldValue, textIn } from "../csv/field.ts";
import { findLines, lineAt } from "../csv/lines.ts";
import type { JoinedRow } from "../results/join.ts";
import { readMark } from "./mark.ts";

/** One address of a row that has several, and its result. */
export interface RowPart extends Pick<JoinedRow, "duplicateOf" | "result"> {
  /** The text in the cell. */
  input: string;
}

/** Writes rows of a list as it was. */
export interface PartsWriter {
  readonly start: Buffer;
  write(to: RowBuffer, row: JoinedRow): void;
  /** A row that has several addresses, of which these are answered, or wanted: one at least. Of `row` its result is not looked at. */
  writeParts(to: RowBuffer, row: JoinedRow, parts: readonly RowPart[]): void;
}

/** Approximate bytes of one address in the results. */
const ADDRESS_BYTES = 1_536;

/**
 * Results of a list whose cells were split (splitter.ts): records of one row, which follow each other wherever chunks end,
 * become that row again. The row that was given last is kept until the next one, or the end, shows that it is whole.
 */
export class SplitRows {
  readonly start: Buffer;
  readonly #writer: PartsWriter;
  readonly #layout: Dialect & { emailColumn: number };
  readonly #room: RowBufferFactory;
  #row: JoinedRow | null = null;
  #parts: RowPart[] = [];

  /** @param layout of the list as it was */
  constructor(writer: PartsWriter, layout: Dialect & { emailColumn: number }, room: RowBufferFactory) {
    this.start = writer.start;
    this.#writer = writer;
    this.#layout = layout;
    this.#room = room;
  }

  rows(rows: readonly JoinedRow[]): Buffer {
    const to = this.#room((rows.length + this.#parts.length) * ADDRESS_BYTES);
    for (const row of rows) this.#take(to, row);
    return to.take();
  }

  end(): Buffer {
    const to = this.#room(this.#parts.length * ADDRESS_BYTES);
    this.#flush(to);
    return to.take();
  }

  #take(to: RowBuffer, record: JoinedRow): void {
    const { lines, offset, row, duplicateOf, result } = record;
    if (this.#row !== null && this.#row.row !== row) this.#flush(to);
    const layout = this.#layout;
    const line = lineAt(lines, offset);
    const markEnd = endOfField(line, 0, layout);
    const addressEnd = endOfField(line, markEnd + 1, layout);
    const { isPart } = readMark(lines.bytes, lines.from[offset] as number, layout.delimiter);
    this.#row ??= { ...record, ...linesOf(line.slice(addressEnd + 1), layout) };
    if (!isPart) {
      this.#flush(to);
      return;
    }
    const input = textIn(fieldValue(line.slice(markEnd + 1, addressEnd), layout), layout.encoding);
    this.#parts.push({ input, duplicateOf, result });
  }

  #flush(to: RowBuffer): void {
    if (this.#row === null) return;
    if (this.#parts.length > 0) this.#writer.writeParts(to, this.#row, this.#parts);
    else this.#writer.write(to, this.#row);
    this.#row = null;
    this.#parts = [];
  }
}

/** The row as it stood in the list. */
function linesOf(
  line: string,
  layout: Dialect & { emailColumn: number },
): Pick<JoinedRow, "lines" | "offset"> {
  return { lines: findLines(Buffer.from(line, "latin1"), layout, 1), offset: 0 };
}
