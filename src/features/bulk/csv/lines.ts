import type { Dialect } from "./dialect.ts";
import { RecordFinder } from "./record-finder.ts";

/**
 * The records of some bytes as positions in them: a string for each would cost more to collect than to write again. The
 * same pass finds the marks that copying the records needs.
 */
export interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
  /** Positions of each record's first byte, and of the byte behind its last one, without the line end. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** HAS_… of each record (record-finder.ts). */
  readonly marks: Uint8Array;
  /** Number of fields of each record. */
  readonly fields: Uint16Array;
  /** The address's field, empty where the record is too short to have one. */
  readonly addressFrom: Uint32Array;
  readonly addressTo: Uint32Array;
}

/**
 * Finds the records in bytes of whole records, without their line ends.
 * @param rows expected records: at most `rows` + 1 are returned
 * @throws Error when a quote is not closed, which the analysis has refused before
 */
export function findLines(bytes: Buffer, layout: Dialect & { emailColumn: number }, rows: number): Lines {
  const finder = new RecordFinder(layout, layout.emailColumn);
  const lines = new FoundLines(bytes, rows + 1);
  let at = 0;
  while (lines.count <= rows && finder.next(bytes, at, true)) {
    lines.add(finder);
    at = finder.end;
  }
  if (finder.openAt >= 0) throw new Error("a quote of a chunk's rows is not closed");
  return lines;
}

class FoundLines implements Lines {
  readonly bytes: Buffer;
  count = 0;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly marks: Uint8Array;
  readonly fields: Uint16Array;
  readonly addressFrom: Uint32Array;
  readonly addressTo: Uint32Array;

  constructor(bytes: Buffer, rows: number) {
    this.bytes = bytes;
    this.from = new Uint32Array(rows);
    this.to = new Uint32Array(rows);
    this.marks = new Uint8Array(rows);
    this.fields = new Uint16Array(rows);
    this.addressFrom = new Uint32Array(rows);
    this.addressTo = new Uint32Array(rows);
  }

  add({ from, to, marks, fields, addressFrom, addressTo }: RecordFinder): void {
    const { count } = this;
    this.from[count] = from;
    this.to[count] = to;
    this.marks[count] = marks;
    this.fields[count] = fields;
    this.addressFrom[count] = from + addressFrom;
    this.addressTo[count] = from + addressTo;
    this.count = count + 1;
  }
}

/** The record of this number as text, latin1: `fieldsOf` tells its fields. */
export function lineAt({ bytes, from, to }: Pick<Lines, "bytes" | "from" | "to">, number: number): string {
  return bytes.toString("latin1", from[number], to[number]);
}
